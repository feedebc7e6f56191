"""Which corruptions go together into one copy.

To score a copy costs as much as the scoring itself, so that as many corruptions as do not meet are
put into one copy: each has a mutation point and rows of its own, and their differences add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from krt_scoring.selftest.corruptions import KINDS
from krt_scoring.selftest.difference import Difference
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krt_scoring.selftest.baseline import Baseline
    from krt_scoring.selftest.corruption import Corruption, Kind

TRIES = 256
"""Places tried for a corruption before it gets a copy of its own."""


@dataclass(frozen=True)
class Copy:
    """Corruptions that are applied together."""

    corruptions: tuple[Corruption, ...]

    @property
    def patch(self) -> Patch:
        """All their changes."""
        return sum((item.patch for item in self.corruptions), Patch())

    @property
    def expected(self) -> Difference:
        """All their differences."""
        return sum((item.expected for item in self.corruptions), Difference())


@dataclass(frozen=True)
class Plan:
    """What is to be done: copies, and the kinds no place of the run can host."""

    copies: tuple[Copy, ...]
    inapplicable: tuple[Kind, ...]


def pack(baseline: Baseline, kinds: Iterable[Kind] = KINDS, each: int = 1) -> Plan:
    """Return corruptions of each kind that a baseline can host, in as few copies as they fit in.

    Args:
        baseline: what they are made from.
        kinds: of which.
        each: how many of a kind; those beyond the first only where a copy has room for them.
    """
    whose: dict[object, int] = {
        thing: number
        for number, point in enumerate(baseline.points)
        for record in point.records
        for thing in (record.position, record.sent)
    }
    copies: list[list[Corruption]] = []
    reserved: list[set[object]] = []
    inapplicable = []
    for kind in kinds:
        attempts = list(islice(kind.attempts(baseline), TRIES))
        if not attempts:
            inapplicable.append(kind)
            continue
        for turn in range(each):
            number, chosen = _fitting(attempts, reserved, whose)
            if number == len(copies):
                if turn:
                    break
                copies.append([])
                reserved.append(set())
            copies[number].append(chosen)
            reserved[number] |= _reserved(chosen, whose)
    return Plan(tuple(Copy(tuple(items)) for items in copies), tuple(inapplicable))


def _reserved(item: Corruption, whose: Mapping[object, int]) -> set[object]:
    """What a corruption reserves; of a mutation point that it touches, all of it."""
    return {*item.reserved, *[("point", whose[thing]) for thing in item.reserved if thing in whose]}


def _fitting(
    attempts: list[Corruption], reserved: list[set[object]], whose: Mapping[object, int]
) -> tuple[int, Corruption]:
    """Return the first copy that has room, and what goes there."""
    for number, taken in enumerate(reserved):
        for item in attempts:
            if not taken & _reserved(item, whose):
                return number, item
    return len(reserved), attempts[0]
