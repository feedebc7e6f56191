"""Which partition of __consumer_offsets holds a group's commits, and whether it may lose them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.allowances.truncations import rule_of
from krt_scoring.history.elections import elections

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import Tables

OFFSETS_LOST = "offsets-partition-loss"
"""A commit may go where loss is permitted on the group's partition of __consumer_offsets, and
what was delivered since may be delivered again."""

_INT_BITS = 32
_SIGN = 1 << (_INT_BITS - 1)


def java_hash(text: str) -> int:
    """Return ``String.hashCode`` of Java."""
    value = 0
    data = text.encode("utf-16-be")
    for high, low in zip(data[0::2], data[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) % (1 << _INT_BITS)
    return value - (1 << _INT_BITS) if value >= _SIGN else value


def partition_of(group: str, run: Plan) -> int:
    """Return the partition by Kafka's rule: hash, sign bit cleared, modulo partitions."""
    return (java_hash(group) & (_SIGN - 1)) % run.offsets_partitions


def lost_commits(tables: Tables, facts: Facts) -> dict[int, int]:
    """Return group index → when its partition of commits may first have lost some, in UTC µs."""
    found: dict[int, int] = {}
    for election in elections(tables.timeline):
        if election.topic != "__consumer_offsets" or rule_of(election, facts) is None:
            continue
        for group in facts.groups:
            if partition_of(group.name, facts.run) == election.partition:
                found[group.index] = min(found.get(group.index, election.at), election.at)
    return found
