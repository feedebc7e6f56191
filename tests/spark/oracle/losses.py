"""The rules of what is gone or came from elsewhere: lost, vanished, misplaced.

docs/concepts/anomalies.md, the table and "Places".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.oracle.elections import acked_place, loss_permitted
from tests.spark.oracle.history import Finding, History, Record, identity_of, place_of
from tests.spark.oracle.presence import below_start, in_log, lies_at, partition_of

if TYPE_CHECKING:
    from tests.spark.oracle.history import Place, Row


def first_delivery(record: Record) -> int | None:
    """Return when a record was first delivered successfully."""
    return min((row["delivered_at"] for row in record.ok), default=None)


def transaction_verified(history: History, record: Record) -> bool:
    """Whether some send of an undecided transaction proves that it was committed."""
    send = record.send
    if send is None or send["transaction"] is None:
        return False
    committed_only = {group.name for group in history.groups if group.committed_only}
    for other in history.records:
        mate = other.send
        if mate is None or mate["producer_incarnation"] != send["producer_incarnation"]:
            continue
        if mate["transaction"] != send["transaction"]:
            continue
        if any(row["state"] == "committed" for row in other.log):
            return True
        if any(row["group"] in committed_only for row in other.ok):
            return True
    return False


def verified(history: History, record: Record) -> bool:
    """Whether an unknown send is known to have been written and not aborted."""
    if record.outcome != "unknown" or history.nobody_sent(record):
        return False
    if record.send is not None and record.send["transaction"] is not None:
        return transaction_verified(history, record)
    return bool(record.ok) and not any(row["state"] == "aborted" for row in record.log)


def lost(history: History, record: Record) -> bool:
    """Whether a record that must be in the log is not."""
    if in_log(history, record) or below_start(history, record):
        return False
    return record.outcome == "acked" or verified(history, record)


def loss_rule(history: History, record: Record) -> str | None:
    """Return the rule that permits to lose a record."""
    acks = history.acks(record.identity[0])
    rule = cut_rule(history, record)
    unproven = acks == "0" and not record.ok
    return rule or ("acks-0-not-provably-appended" if unproven else None)


def cut_rule(history: History, record: Record) -> str | None:
    """Return the rule by which an election may have cut a record."""
    acks = history.acks(record.identity[0])
    send, delivered = record.send, first_delivery(record)
    place = acked_place(history, record)
    if place is not None and send is not None:
        return loss_permitted(history, acks, place[0], place[1], send["done_at"])
    if delivered is not None:
        first = min(place_of(row) for row in record.ok)
        return loss_permitted(history, acks, *first, appended_by(history, record, first))
    if send is None:
        return None
    return loss_permitted(history, acks, send["partition"], None, send["done_at"])


def appended_by(history: History, record: Record, place: Place) -> int:
    """Return by when a record had been appended at a place.

    Its acknowledgement tells for its own place; for any other, and of what was never
    acknowledged, the first delivery may tell it earlier.
    """
    send, delivered = record.send, first_delivery(record)
    if send is None:
        return delivered or 0
    acked = acked_place(history, record)
    if send["outcome"] == "acked" and acked in (None, place):
        return int(send["done_at"])
    return min(send["done_at"], delivered) if delivered is not None else int(send["done_at"])


def lost_write(history: History) -> list[Finding]:
    """Find what must be in the log and is not."""
    return [
        Finding(
            "lost-write",
            loss_rule(history, record),
            partition=partition_of(history, record),
            incarnation=record.identity[1],
        )
        for record in history.records
        if lost(history, record)
    ]


def lies_unread(history: History, record: Record) -> bool:
    """Whether a record lies in a log that was not read, as far as anybody can tell."""
    place = lies_at(history, record)
    return place is not None and not history.read(place[0]) and in_log(history, record)


def place_rule(history: History, record: Record, row: Row) -> str | None:
    """Return the rule that permits what was delivered from a place to be gone from there."""
    place = place_of(row)
    return loss_permitted(history, "all", *place, appended_by(history, record, place))


def vanished_read(history: History) -> list[Finding]:
    """Find what was delivered from above the start of a log and is in no log."""
    found: list[Finding] = []
    for record in history.records:
        rows = [
            row
            for row in record.ok
            if history.read(row["partition"]) and not history.below_start(place_of(row))
        ]
        if record.log or not rows or lies_unread(history, record):
            continue
        first = min(rows, key=place_of)
        rule = place_rule(history, record, first)
        found.append(
            Finding(
                "vanished-read",
                rule,
                partition=first["partition"],
                incarnation=record.identity[1],
            )
        )
    return found


def misplaced_delivery(history: History) -> list[Finding]:
    """Find deliveries from where the log does not hold the record."""
    found: list[Finding] = []
    for record in history.records:
        for row in record.ok:
            elsewhere = bool(record.log) or lies_unread(history, record)
            if history.delivers(row) or not elsewhere:
                continue
            rule = place_rule(history, record, row)
            found.append(
                Finding(
                    "misplaced-delivery",
                    rule,
                    partition=row["partition"],
                    group=row["group"],
                    incarnation=record.identity[1],
                )
            )
    for row in history.deliveries:
        nothing = not history.log_at(place_of(row)) and identity_of(row) is None
        if nothing and row["outcome"] == "ok" and history.judged(place_of(row)):
            rule = loss_permitted(history, "all", *place_of(row), row["delivered_at"])
            found.append(
                Finding("misplaced-delivery", rule, partition=row["partition"], group=row["group"])
            )
    return found
