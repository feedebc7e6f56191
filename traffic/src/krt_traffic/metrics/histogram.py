"""A histogram that takes its values by the thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    def observe(self, values: Sequence[int] | pa.Int64Array) -> None:
        """Take values, none of them null. A negative value counts as 0."""
        if not len(values):
            return
        column = pa.array(values, pa.int64())
        more = [pc.sum(pc.less_equal(column, bound)).as_py() for bound in self.bounds]
        below, count, total = self._state
        self._state = (
            tuple(map(sum, zip(below, more, strict=True))),
            count + len(column),
            total + pc.sum(pc.max_element_wise(column, 0)).as_py(),
        )

    def read(self) -> tuple[tuple[int, ...], int, int]:
        """Return how many values are within each bound, how many there are, and their sum."""
        return self._state
