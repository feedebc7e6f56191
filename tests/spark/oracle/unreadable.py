"""Bytes damaged beyond reading, and the outcome of transactions that a dead member left open.

Both say what a row means before any rule looks at it; docs/concepts/anomalies.md, "Places" and
"Consume, transform, produce".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.oracle.elections import acked_place
from tests.spark.oracle.history import identity_of, place_of

if TYPE_CHECKING:
    from tests.spark.oracle.history import History, Row


def prepare(history: History) -> History:
    """Return a history whose rows say what they mean."""
    decide_transactions(history)
    name_unreadable_log(history)
    name_unreadable_deliveries(history)
    history.forget()
    return history


def _name(row: Row, owner: Row) -> None:
    for column in ("producer", "producer_incarnation", "seq"):
        row[column] = owner[column]
    row["checksum_ok"] = False
    row["unreadable"] = True


def name_unreadable_log(history: History) -> None:
    """Take unreadable bytes of the log for the record that has their place."""
    readable = history.records
    for row in history.log:
        if identity_of(row) is not None:
            continue
        place = place_of(row)
        acked = [
            record.send
            for record in readable
            if record.send is not None and acked_place(history, record) == place
        ]
        delivered = [
            item
            for item in history.deliveries
            if item["outcome"] == "ok" and identity_of(item) and place_of(item) == place
        ]
        if acked:
            _name(row, max(acked, key=lambda send: send["done_at"]))
        elif delivered:
            _name(row, max(delivered, key=lambda item: item["delivered_at"]))


def name_unreadable_deliveries(history: History) -> None:
    """Take unreadable bytes that were delivered for the record that the log holds there."""
    for row in history.deliveries:
        if identity_of(row) is not None:
            continue
        held = [item for item in history.log_at(place_of(row)) if identity_of(item)]
        if held:
            _name(row, held[0])


def decide_transactions(history: History) -> None:
    """Decide the transactions of consumers whose outcome nobody reported, by their output."""
    groups = {group.name: group for group in history.groups}
    for row in history.deliveries:
        decided = row["outcome"] == "unknown" and groups[row["group"]].transactional
        if decided and committed(history, row["incarnation"], row["transaction"]):
            row["outcome"] = "ok"
    for row in history.events:
        decided = row["event"] == "commit_unknown" and groups[row["group"]].transactional
        if decided and committed(history, row["incarnation"], row["transaction"]):
            row["event"] = "committed"


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


def committed(history: History, incarnation: str, transaction: int | None) -> bool:
    """Whether any output of a transaction is committed in the log or reached a reader of such."""
    written = outputs(history, incarnation, transaction)
    committed_only = {group.name for group in history.groups if group.committed_only}
    in_log = any(
        (row["producer_incarnation"], row["seq"]) in written and row["state"] == "committed"
        for row in history.log
    )
    return in_log or any(
        (row["producer_incarnation"], row["seq"]) in written
        and row["outcome"] == "ok"
        and row["group"] in committed_only
        for row in history.deliveries
    )


def aborted(history: History, incarnation: str, transaction: int | None) -> bool:
    """Whether the log holds any output of a transaction as aborted."""
    written = outputs(history, incarnation, transaction)
    return any(
        (row["producer_incarnation"], row["seq"]) in written and row["state"] == "aborted"
        for row in history.log
    )
