"""Where a record lies, whether the log holds it, and to whom it is owed.

docs/concepts/anomalies.md, "Places", and what it says of logs that were not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.oracle.elections import acked_place
from tests.spark.oracle.history import place_of

if TYPE_CHECKING:
    from tests.spark.oracle.history import Group, History, Place, Record


def lies_at(history: History, record: Record) -> Place | None:
    """Return the first place of a record: by the log, else its acknowledgement, else deliveries."""
    if record.log:
        return min(place_of(row) for row in record.log)
    acked = acked_place(history, record)
    return acked or min((place_of(row) for row in record.ok), default=None)


def partition_of(history: History, record: Record) -> int | None:
    """Return the partition of a record: where it lies, else where it was sent to."""
    place = lies_at(history, record)
    if place is not None:
        return place[0]
    return record.send["partition"] if record.send is not None else None


def in_unread(history: History, record: Record) -> bool:
    """Whether the log that would hold a record was not read."""
    return not history.read(partition_of(history, record))


def passed_over(history: History, record: Record) -> bool:
    """Whether a group that was owed a record read as far as it, and nobody was ever given it."""
    place = lies_at(history, record)
    if record.deliveries or place is None or not in_unread(history, record):
        return False
    send = record.send
    undecided = send is not None and send["transaction_outcome"] not in (None, "committed")
    for group in history.groups:
        if group.committed_only and undecided:
            continue
        reached = max(
            (
                row["offset"]
                for row in history.deliveries
                if row["group"] == group.name
                and row["outcome"] == "ok"
                and row["partition"] == place[0]
            ),
            default=-1,
        )
        if history.owed(place, group) and place[1] <= reached:
            return True
    return False


def in_log(history: History, record: Record) -> bool:
    """Whether the log holds a record; one that was not read, as far as deliveries tell."""
    if record.present:
        return True
    known = lies_at(history, record) is not None and in_unread(history, record)
    return known and not passed_over(history, record)


def below_start(history: History, record: Record) -> bool:
    """Whether a record lay below the start of its log: as acknowledged, else as delivered."""
    place = acked_place(history, record)
    if place is None:
        place = max((place_of(row) for row in record.ok), default=None)
    return place is not None and history.below_start(place)


def owed(history: History, record: Record, group: Group) -> bool:
    """Whether a record has to be delivered to a group."""
    place = lies_at(history, record)
    if place is None or record.outcome == "failed" or not in_log(history, record):
        return False
    visible = in_unread(history, record) or any(
        history.visible(row, group) for row in record.present
    )
    return visible and history.owed(place, group) and not history.nobody_sent(record)


def delivered_to(history: History, record: Record, group: Group) -> bool:
    """Whether a record was delivered to a group from its own place."""
    return any(row["group"] == group.name and history.delivers(row) for row in record.ok)
