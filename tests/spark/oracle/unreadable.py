"""Bytes damaged beyond reading, and the outcome of transactions that a dead member left open.

Both say what a row means before any rule looks at it; docs/concepts/anomalies.md, "Places" and
"Consume, transform, produce".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.oracle.elections import acked_place
from tests.spark.oracle.history import identity_of, place_of

if TYPE_CHECKING:
    from tests.spark.oracle.history import History, Place, Row


def prepare(history: History) -> History:
    """Return a history whose rows say what they mean."""
    decide_transactions(history)
    name_unreadable(history)
    history.forget()
    return history


def _name(row: Row, owner: Row) -> None:
    for column in ("producer", "producer_incarnation", "seq"):
        row[column] = owner[column]
    row["checksum_ok"] = False
    row["unreadable"] = True


def owners(history: History, place: Place) -> list[Row]:
    """Return rows that say whose record has a place, the one that decides first.

    What the log holds there, what was acknowledged there last, what was delivered from there.
    """

    def name(row: Row) -> tuple[str, str, int]:
        return row["producer"], row["producer_incarnation"], row["seq"]

    held = [row for row in history.log_at(place) if identity_of(row)]
    acked = [
        record.send
        for record in history.records
        if record.send is not None and acked_place(history, record) == place
    ]
    delivered = [
        row
        for row in history.deliveries
        if row["outcome"] == "ok" and identity_of(row) and place_of(row) == place
    ]
    acked.sort(key=lambda send: (-send["done_at"], name(send)))
    return [*sorted(held, key=name), *acked, *sorted(delivered, key=name)]


def name_unreadable(history: History) -> None:
    """Take unreadable bytes for the record that has their place."""
    unreadable = [row for row in [*history.log, *history.deliveries] if identity_of(row) is None]
    named = [(row, owners(history, place_of(row))) for row in unreadable]
    for row, found in named:
        if found:
            _name(row, found[0])


def decide_transactions(history: History) -> None:
    """Decide the transactions of consumers whose outcome nobody reported, by their output."""
    groups = {group.name: group for group in history.groups}
    for row in history.deliveries:
        if row["outcome"] == "unknown" and groups[row["group"]].transactional:
            row["outcome"] = {True: "ok", False: "failed", None: "unknown"}[
                committed(history, row["incarnation"], row["transaction"])
            ]
    for row in history.events:
        if row["event"] == "commit_unknown" and groups[row["group"]].transactional:
            row["event"] = {True: "committed", False: "commit_failed", None: "commit_unknown"}[
                committed(history, row["incarnation"], row["transaction"])
            ]


def outputs(history: History, incarnation: str, transaction: int | None) -> set[tuple[str, int]]:
    """Return incarnation and seq of what a transaction of a consumer wrote."""
    if transaction is None:
        return set()
    return {
        (row["producer_incarnation"], row["seq"])
        for row in history.sends
        if row["producer_incarnation"] == incarnation and row["transaction"] == transaction
    } | {
        (incarnation, row["output_seq"])
        for row in history.deliveries
        if row["incarnation"] == incarnation
        and row["transaction"] == transaction
        and row["output_seq"] is not None
    }


def committed(history: History, incarnation: str, transaction: int | None) -> bool | None:
    """Whether a transaction was committed: its output tells; None if nothing does."""
    written = outputs(history, incarnation, transaction)
    committed_only = {group.name for group in history.groups if group.committed_only}
    states = {
        row["state"] for row in history.log if (row["producer_incarnation"], row["seq"]) in written
    }
    read = any(
        (row["producer_incarnation"], row["seq"]) in written
        and row["outcome"] == "ok"
        and row["group"] in committed_only
        for row in history.deliveries
    )
    if read or "committed" in states:
        return True
    return False if "aborted" in states else None
