"""Rebalances of the groups, as the consumers' assignments show them.

Assignments of one generation are of one rebalance. Where the clients did not record generations,
assignments that follow each other closely are. A rebalance lasts from when the first of its
partitions was given up to when the last one was assigned: in between nobody reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.durations import MICROS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krt_scoring.history.intervals import Interval

APART = MICROS["s"]
"""µs between two assignments of different rebalances, at least."""


@dataclass(frozen=True, slots=True)
class Rebalance:
    """One rebalance; UTC µs.

    Attributes:
        begin: when the first of its partitions was given up; when the first was assigned where
            none had an owner that gave it up.
        end: when the last partition was assigned.
        partitions: how many were assigned.
        members: how many consumers they were assigned to.
    """

    group: str
    begin: int
    end: int
    partitions: int
    members: int


def rebalances(intervals: Iterable[Interval], groups: Sequence[str]) -> list[Rebalance]:
    """Return the rebalances of a run, by group and end.

    Args:
        intervals: who owned which partition.
        groups: names of the groups, by index.
    """
    by_group: dict[int, list[Interval]] = {}
    for item in intervals:
        by_group.setdefault(item.group, []).append(item)
    found: list[Rebalance] = []
    for group, own in sorted(by_group.items()):
        given_up = _given_up(own)
        ordered = sorted(own, key=lambda item: (item.begin, item.number))
        found += [_of(groups[group], together, given_up) for together in _rounds(ordered)]
    return sorted(found, key=lambda item: (item.group, item.end, item.begin))


def _of(group: str, together: Sequence[Interval], given_up: Mapping[int, int]) -> Rebalance:
    return Rebalance(
        group,
        min(given_up.get(item.number, item.begin) for item in together),
        max(item.begin for item in together),
        len({item.tp for item in together}),
        len({item.incarnation for item in together}),
    )


def _rounds(intervals: Sequence[Interval]) -> Iterator[list[Interval]]:
    """Yield the assignments of a group, in order of time, that are of one rebalance."""
    if any(item.generation is None for item in intervals):
        yield from _bursts(intervals)
        return
    by_generation: dict[int | None, list[Interval]] = {}
    for item in intervals:
        by_generation.setdefault(item.generation, []).append(item)
    yield from by_generation.values()


def _given_up(intervals: Iterable[Interval]) -> dict[int, int]:
    """Return number of an interval → when the partition's owner before it gave it up."""
    found: dict[int, int] = {}
    before: dict[int, Interval] = {}
    for item in sorted(intervals, key=lambda item: (item.tp, item.begin, item.number)):
        owner = before.get(item.tp)
        if owner is not None and owner.end < item.begin:
            found[item.number] = owner.end
        before[item.tp] = item
    return found


def _bursts(intervals: Iterable[Interval]) -> Iterator[list[Interval]]:
    burst: list[Interval] = []
    for item in intervals:
        if burst and item.begin - burst[-1].begin >= APART:
            yield burst
            burst = []
        burst.append(item)
    if burst:
        yield burst
