"""The ledger identity: every send has exactly one outcome.

docs/concepts/anomalies.md, "The ledger identity".
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.spark.oracle.history import place_of
from tests.spark.oracle.polls import delivered_to
from tests.spark.oracle.records import expired, lost

if TYPE_CHECKING:
    from tests.spark.oracle.history import Group, History, Place, Record


def outcomes(history: History) -> dict[str, int]:
    """Return how many records had each outcome.

    One that no ledger row tells of counts as unknown; whether it was sent at all is for
    corrupt-payload to tell.
    """
    return dict(Counter(outcome(history, record) for record in history.records))


def in_log(history: History, record: Record) -> bool:
    """Whether the log holds a record, as far as it was read."""
    unread = [row for row in record.ok if not history.read(row["partition"])]
    return bool(record.present) or (not record.log and bool(unread))


def outcome(history: History, record: Record) -> str:
    """Return the one outcome of a send."""
    if record.outcome == "unknown":
        return "unknownInLog" if in_log(history, record) else "unknownNotInLog"
    if record.outcome == "failed":
        return "failedInLog" if in_log(history, record) else "failedNotInLog"
    if lost(history, record):
        return "lost"
    if not record.present and expired(history, record):
        return "expired"
    owed = [group for group in history.groups if owed_to(history, record, group)]
    if not all(delivered_to(history, record, group) for group in owed):
        return "undelivered"
    return "deliveredLate" if late(history, record, owed) else "delivered"


def own_places(record: Record) -> list[Place]:
    """Return where an acknowledged record lies or, if its log was not read, was acknowledged."""
    if record.log:
        return [place_of(row) for row in record.log]
    send = record.send
    if send is not None and send["partition"] is not None and send["offset"] is not None:
        return [(send["partition"], send["offset"])]
    return [place_of(row) for row in record.ok]


def owed_to(history: History, record: Record, group: Group) -> bool:
    """Whether an acknowledged record is owed to a group."""
    visible = [row for row in record.log if history.visible(row, group)]
    if record.log and not visible:
        return False
    return any(history.owed(place, group) for place in own_places(record))


def late(history: History, record: Record, owed: list[Group]) -> bool:
    """Whether the last owed group got a record only after the faults of its time were over."""
    if record.send is None or not owed:
        return False
    acked = record.send["done_at"]
    reverted = []
    for fault in history.timeline:
        if fault.source != "fault" or fault.event != "injected" or fault.at > acked:
            continue
        ends = [
            item.at
            for item in history.timeline
            if item.source == "fault" and item.event == "reverted"
            if item.subject == fault.subject and item.at >= fault.at
        ]
        end = min(ends, default=float("inf"))
        if end > acked:
            reverted.append(end)
    if not reverted:
        return False
    last = max(
        min(
            row["delivered_at"]
            for row in record.ok
            if row["group"] == group.name and history.delivers(row)
        )
        for group in owed
    )
    return bool(last > max(reverted))
