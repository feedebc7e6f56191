"""Gaps: waits so long that they are no part of the steady state.

What is long is measured, not set: the 99th percentile of the waits of the steady state and twice
its distance from their median, over all partitions of a direction and group. Latencies are no base
for it: they include queueing, and one pause of a busy machine delays everything that queues behind
it, but it is one wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.metrics.histogram import Histogram, bin_column
from krt_scoring.metrics.waits import KEY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.metrics.operations import Lanes

SPREADS = 2
"""Distances between the median and the 99th percentile of the steady waits by which the detection
limit is above the latter: of waits with an exponential distribution, one in 250 000 is longer.
Waits that are long but alike, as those for a commit are, do not raise it as a multiple of them
would."""

LEAST_FACTOR = 2
"""Detection limit, in 99th percentiles of the steady waits, at the least: of waits that are all
alike, two in a row are no gap."""

LEAST_LIMIT = 100_000
"""µs; no shorter wait is called a gap. It is ``retry.backoff.ms`` of Kafka's clients, which any
request that has to be repeated waits for."""

MIN_WAITS = 20
"""Steady waits without which a high percentile means nothing."""

Kind = tuple[str, str]
"""Direction and group; the group is empty for writes."""


@dataclass(frozen=True, slots=True, order=True)
class Gap:
    """One gap of a partition in one direction; UTC µs.

    Attributes:
        group: reading group; empty for writes.
        open_end: nothing succeeded after it; ``end`` is when the last operation was given up.
    """

    direction: str
    group: str
    topic: str
    partition: int
    start: int
    end: int
    open_end: bool = False

    @property
    def duration(self) -> int:
        """Length in µs."""
        return self.end - self.start


@dataclass(frozen=True, slots=True, order=True)
class PartitionOperations:
    """How many operations were scheduled on a partition in one direction.

    Attributes:
        during_faults: operations that were due while a fault was open and were done.
    """

    direction: str
    group: str
    topic: str
    partition: int
    scheduled: int
    during_faults: int


def survey(
    waits: DataFrame, named: Lanes, windows: Sequence[FaultWindow]
) -> tuple[dict[Kind, int], list[PartitionOperations]]:
    """Return the detection limits, µs, where they are known, and what was scheduled where.

    Args:
        waits: ``krt_scoring.metrics.waits``.
        named: what the numbers of their lanes and partitions mean.
        windows: the faults; the steady state ends with the first injection.
    """
    injected = [window.injected_at for window in windows if window.injected_at is not None]
    steady = sf.col("done") < min(injected) if injected else sf.lit(col=True)
    counted = (
        waits.withColumn("micros", sf.when(steady, sf.col("done") - sf.col("start")))
        .groupBy(*KEY, bin_column(sf.col("micros")).alias("bin"))
        .agg(
            sf.count("*").alias("n"),
            sf.max("micros").alias("largest"),
            sf.sum("scheduled").alias("scheduled"),
            sf.sum("progress").alias("progress"),
        )
    )
    histograms: dict[Kind, Histogram] = {}
    totals: dict[tuple[str, str, str, int], list[int]] = {}
    for row in counted.collect():
        total = totals.setdefault(named.name(row["lane"], row["tp"]), [0, 0])
        total[0] += row["scheduled"]
        total[1] += row["progress"]
        if row["bin"] is not None:
            histogram = histograms.setdefault(named.kind(row["lane"]), Histogram())
            histogram.add(row["bin"], row["n"], row["largest"])
    limits = detection_limits(histograms)
    measured = [
        PartitionOperations(*key, scheduled=scheduled, during_faults=during)
        for key, (scheduled, during) in totals.items()
        if key[:2] in limits and scheduled
    ]
    return limits, sorted(measured)


def detection_limits(steady: Mapping[Kind, Histogram]) -> dict[Kind, int]:
    """Return direction and group → the shortest gap that can be seen, µs, where it is known.

    Args:
        steady: direction and group → the waits of the steady state.
    """
    return {
        kind: max(LEAST_LIMIT, _far_above(waits))
        for kind, waits in sorted(steady.items())
        if waits.total >= MIN_WAITS
    }


def _far_above(waits: Histogram) -> int:
    """Return what is far longer than waits, µs."""
    high = waits.percentile(99)
    return max(LEAST_FACTOR * high, high + SPREADS * (high - waits.percentile(50)))


def find(waits: DataFrame, named: Lanes, limits: Mapping[Kind, int]) -> list[Gap]:
    """Return every gap at least as long as its detection limit, in order.

    Args:
        waits: ``krt_scoring.metrics.waits``.
        named: what the numbers of their lanes and partitions mean.
        limits: direction and group → detection limit in µs; what has none is not measured.
    """
    end = sf.coalesce("done", "given_up")
    long = waits.withColumn("end", end).where(end - sf.col("start") >= _limit(limits, named))
    return sorted(
        Gap(*named.name(row["lane"], row["tp"]), row["start"], row["end"], row["done"] is None)
        for row in long.select(*KEY, "start", "end", "done").collect()
    )


def _limit(limits: Mapping[Kind, int], named: Lanes) -> Column:
    expression = sf.lit(None).cast("long")
    for kind, limit in sorted(limits.items()):
        here = sf.col("lane") == named.number(kind)
        expression = sf.when(here, sf.lit(limit).cast("long")).otherwise(expression)
    return expression
