"""Which partition of __consumer_offsets holds a group's commits, and whether it may lose them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.allowances.truncations import rule_of
from krt_scoring.history.elections import elections
from krt_scoring.inputs.timeline import CLOCK_SLACK

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.history import History
    from krt_scoring.history.tables import Tables

OFFSETS_LOST = "offsets-partition-loss"
"""A commit may go where loss is permitted on the group's partition of __consumer_offsets, and
what was delivered since may be delivered again."""

CONSUMER_OFFSETS = "__consumer_offsets"

_INT_BITS = 32
_SIGN = 1 << (_INT_BITS - 1)


def java_hash(text: str) -> int:
    """Return ``String.hashCode`` of Java."""
    value = 0
    data = text.encode("utf-16-be")
    for high, low in zip(data[0::2], data[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) % (1 << _INT_BITS)
    return value - (1 << _INT_BITS) if value >= _SIGN else value


def partition_of(group: str, run: Plan, partitions: int = 0) -> int:
    """Return the partition by Kafka's rule: hash, sign bit cleared, modulo partitions.

    Args:
        group: the group.
        run: the plan.
        partitions: how many there are, where that was seen; else as the brokers' setting says.
    """
    return (java_hash(group) & (_SIGN - 1)) % (partitions or run.offsets_partitions)


def losses(tables: Tables, facts: Facts) -> dict[int, tuple[int, ...]]:
    """Return group index → when its partition of commits may have lost some, in UTC µs."""
    found: dict[int, set[int]] = {}
    for election in elections(tables.timeline):
        if election.topic != CONSUMER_OFFSETS or rule_of(election, facts) is None:
            continue
        for group in facts.groups:
            if partition_of(group.name, facts.run) == election.partition:
                found.setdefault(group.index, set()).add(election.at)
    return {group: tuple(sorted(times)) for group, times in sorted(found.items())}


def resumed(history: History) -> frozenset[int]:
    """Return the numbers of the ownerships whose last commit before them may have been lost.

    They began after an election that permits it, and the commit was confirmed before it. Whoever
    begins after a later commit does not resume from the loss.
    """
    times = losses(history.tables, history.facts)
    return frozenset(
        item.number
        for item in history.ownership.intervals
        if item.committed_at is not None
        and any(
            item.committed_at <= at + CLOCK_SLACK and at <= item.begin
            for at in times.get(item.group, ())
        )
    )
