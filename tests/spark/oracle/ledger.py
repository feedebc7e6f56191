"""The ledger identity: every send has exactly one outcome.

docs/concepts/anomalies.md, "The ledger identity".
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.spark.oracle.losses import lost
from tests.spark.oracle.presence import delivered_to, in_log, owed

if TYPE_CHECKING:
    from tests.spark.oracle.history import Group, History, Record


def outcomes(history: History) -> dict[str, int]:
    """Return how many records had each outcome.

    One that no ledger row tells of counts as unknown; whether it was sent at all is for
    corrupt-payload to tell.
    """
    return dict(Counter(outcome(history, record) for record in history.records))


def outcome(history: History, record: Record) -> str:
    """Return the one outcome of a send."""
    if record.outcome == "unknown":
        return "unknownInLog" if in_log(history, record) else "unknownNotInLog"
    if record.outcome == "failed":
        return "failedInLog" if in_log(history, record) else "failedNotInLog"
    if lost(history, record):
        return "lost"
    if not in_log(history, record):
        return "expired"
    due = [group for group in history.groups if owed(history, record, group)]
    if not all(delivered_to(history, record, group) for group in due):
        return "undelivered"
    return "deliveredLate" if late(history, record, due) else "delivered"


def late(history: History, record: Record, due: list[Group]) -> bool:
    """Whether the last owed group got a record only after the faults of its time were over."""
    if record.send is None or not due:
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
        for group in due
    )
    return bool(last > max(reverted))
