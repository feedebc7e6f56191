"""Latencies counted in bins, so that percentiles are exact integers whatever the parallelism.

Approximate percentiles depend on the order in which partitions are merged; exact ones keep every
distinct value. Counts in fixed bins do neither: below 128 µs a bin is one microsecond wide, above
it each power of two has 64 bins, so a reported percentile is at most 1.6 % above the true one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column

SUB_BITS = 6
"""64 bins in each power of two."""

FIRST_OCTAVE = SUB_BITS + 1
LAST_OCTAVE = 40
"""2^41 µs are 25 days; longer latencies share the last bin."""

PERCENTILES = (50, 95, 99)


def bin_of(micros: int) -> int:
    """Return the bin of a latency in µs; negative ones count as 0."""
    value = max(0, micros)
    if value < 1 << FIRST_OCTAVE:
        return value
    octave = min(value.bit_length() - 1, LAST_OCTAVE)
    sub = min((value - (1 << octave)) >> (octave - SUB_BITS), (1 << SUB_BITS) - 1)
    return (1 << FIRST_OCTAVE) + ((octave - FIRST_OCTAVE) << SUB_BITS) + sub


def upper_edge(index: int) -> int:
    """Return the largest latency in µs that falls into a bin."""
    if index < 1 << FIRST_OCTAVE:
        return index
    rest = index - (1 << FIRST_OCTAVE)
    octave, sub = FIRST_OCTAVE + (rest >> SUB_BITS), rest & ((1 << SUB_BITS) - 1)
    return (1 << octave) + ((sub + 1) << (octave - SUB_BITS)) - 1


def bin_column(micros: Column) -> Column:
    """Return ``bin_of`` as a Spark expression of integers alone; null for a null latency.

    Args:
        micros: a plain column: its text stands some forty times in the expression.
    """
    shift = _shift(micros, 0, LAST_OCTAVE - SUB_BITS)
    value = sf.least(
        sf.greatest(micros, sf.lit(0).cast("long")), sf.lit((1 << (LAST_OCTAVE + 1)) - 1)
    )
    # In the octave of 2^(shift + 6) the 64 bins are the value's leading bits, less the first.
    index = shift * (1 << SUB_BITS) + sf.call_function("shiftright", value, shift)
    # ``greatest`` passes over a null, which would count what was never done among the fastest.
    return sf.when(micros.isNotNull(), index).cast("int")


def _shift(micros: Column, low: int, high: int) -> Column:
    """Return how many low bits a bin of this latency spans, ``low`` to ``high``, by bisection."""
    if low == high:
        return sf.lit(low)
    middle = (low + high + 1) // 2
    return sf.when(micros >= (1 << (middle + SUB_BITS)), _shift(micros, middle, high)).otherwise(
        _shift(micros, low, middle - 1)
    )


@dataclass(slots=True)
class Histogram:
    """Counts of latencies by bin, and the largest one."""

    counts: dict[int, int] = field(default_factory=dict)
    largest: int = 0

    @property
    def total(self) -> int:
        """Latencies counted."""
        return sum(self.counts.values())

    def add(self, index: int, count: int, largest: int) -> None:
        """Count ``count`` latencies of a bin whose largest is ``largest`` µs."""
        self.counts[index] = self.counts.get(index, 0) + count
        self.largest = max(self.largest, largest)

    def percentile(self, percent: int) -> int:
        """Return the latency in µs that ``percent`` of all do not exceed; 0 when empty."""
        # The smallest rank that covers the share, counted in integers.
        rank = -(-self.total * percent // 100)
        seen = 0
        for index in sorted(self.counts):
            seen += self.counts[index]
            if seen >= rank:
                return min(upper_edge(index), self.largest)
        return 0

    def as_dict(self) -> dict[str, int]:
        """Return count, percentiles and maximum as the scorecard holds them."""
        named = {f"p{percent}": self.percentile(percent) for percent in PERCENTILES}
        return {"count": self.total, "max": self.largest, **named}


def merge(histograms: Iterable[Histogram]) -> Histogram:
    """Return the sum of histograms."""
    total = Histogram()
    for histogram in histograms:
        for index, count in histogram.counts.items():
            total.add(index, count, histogram.largest)
    return total
