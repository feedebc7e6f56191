"""A histogram that takes its values by the thousand."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

if TYPE_CHECKING:
    import pyarrow as pa

LATENCY_MICROS: Final = (
    *(1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000),
    *(1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000),
)
"""Upper bounds of the buckets of a latency, microseconds: from the fastest acknowledgement of an
idle cluster to a fault that keeps a partition without a leader for a minute."""


class Histogram:
    """Counts values in buckets.

    Written by one thread and read by another, without a lock: what is read is one object that is
    replaced, never changed.

    Args:
        bounds: upper bounds of the buckets, inclusive, in rising order.
    """

    def __init__(self, bounds: tuple[int, ...] = LATENCY_MICROS) -> None:
        self.bounds = bounds
        self._state = ((0,) * len(bounds), 0, 0)

    def observe(self, values: list[int]) -> None:
        """Take values; the list is sorted. A negative value counts as 0.

        Sorting costs less than a search for each value: latencies come in runs.
        """
        if not values:
            return
        values.sort()
        more = [bisect_right(values, bound) for bound in self.bounds]
        self._add(more, len(values), sum(values[bisect_left(values, 0) :]))

    def observe_column(self, values: pa.Int64Array) -> None:
        """Take the values of a column, none of them null, as ``observe`` takes those of a list."""
        if not len(values):
            return
        more = [pc.sum(pc.less_equal(values, bound)).as_py() for bound in self.bounds]
        self._add(more, len(values), pc.sum(pc.max_element_wise(values, 0)).as_py())

    def _add(self, within: list[int], values: int, total: int) -> None:
        """Add values of which so many are within each bound, and which have this total."""
        below, count, before = self._state
        self._state = (
            tuple(map(sum, zip(below, within, strict=True))),
            count + values,
            before + total,
        )

    def read(self) -> tuple[tuple[int, ...], int, int]:
        """Return how many values are within each bound, how many there are, and their sum."""
        return self._state
