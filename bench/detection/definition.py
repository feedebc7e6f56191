"""What a wait and a gap are, in plain Python, operation by operation.

The scorer finds the same with Spark, without putting records in order; its tests compare both.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Span = tuple[int, int]
"""From when until when, µs."""


@dataclass(frozen=True, slots=True, order=True)
class Operation:
    """One operation on a partition; µs.

    Attributes:
        due: when it was scheduled.
        ended: when it was done or given up.
        succeeded: whether it was done.
    """

    due: int
    ended: int
    succeeded: bool = True


def find_waits(operations: Sequence[Operation]) -> Iterator[Span]:
    """Yield how long an operation was due and none succeeded, for each time one succeeded.

    A wait begins with the success before it or, if nothing was outstanding then, when the next
    operation was due. One that no success ends lasts until the last operation was given up.
    """
    due = sorted(item.due for item in operations)
    ended = sorted(item.ended for item in operations)
    before: int | None = None
    for success in sorted({item.ended for item in operations if item.succeeded}):
        yield _begin(due, ended, before), success
        before = success
    if before is None or ended[-1] > before:
        yield _begin(due, ended, before), ended[-1]


def _begin(due: Sequence[int], ended: Sequence[int], before: int | None) -> int:
    if before is None:
        return due[0]
    begun = bisect_right(due, before)
    outstanding = begun - bisect_right(ended, before)
    return before if outstanding else due[begun]


def find_gaps(operations: Sequence[Operation], limit: int) -> list[Span]:
    """Return the waits that are at least as long as the detection limit, µs."""
    return [(start, end) for start, end in find_waits(operations) if end - start >= limit]
