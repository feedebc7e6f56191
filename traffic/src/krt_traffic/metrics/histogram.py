"""A histogram that takes its values by the thousand."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

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
        below, count, total = self._state
        more = [bisect_right(values, bound) for bound in self.bounds]
        added = sum(values[bisect_left(values, 0) :])
        self._state = (
            tuple(map(sum, zip(below, more, strict=True))),
            count + len(values),
            total + added,
        )

    def read(self) -> tuple[tuple[int, ...], int, int]:
        """Return how many values are within each bound, how many there are, and their sum."""
        return self._state
