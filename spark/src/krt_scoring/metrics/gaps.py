"""Gaps: when operations were due and none succeeded.

A gap runs from the first due operation that was not done within the threshold (3 times the steady
99th percentile) to the next success of an operation due from then on. One slow operation among
others that succeed is no gap. Operations are first folded into slots of half a threshold, so that
only slots, not records, are put in order; where a whole block of slots holds no late operation,
into the block. Start and end are exact to one inter-arrival time; only a gap that begins in the
very slot another ends in starts at the next slot, and one between 1 and 1.5 thresholds may go
unseen where operations done in time stand on both sides of a slow one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as sf

from krt_scoring.inputs.fault_windows import during_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.metrics.operations import Lanes

THRESHOLD_FACTOR = 3
"""Threshold of a gap, in steady 99th percentiles (correctness rules, "Availability")."""

MIN_STEADY = 100
"""Steady operations a 99th percentile needs to mean anything."""

_KEY = ("lane", "tp")

BLOCK_SLOTS = 256
"""Slots to a block: seconds of a run, so that few blocks hold a late operation."""

MANY = 2_000_000
"""Operations from which it costs less to ask first which blocks hold a late one, a query of its
own, than to fold them all into slots."""

_LONGEST = (1 << 41) - 1
"""µs, 25 days: no operation took longer, as histograms have it."""

_LONGER = 1 << 42
"""µs by which instants are spread, so that a duration fits in between."""

_WIDE = "decimal(18,0)"
"""Holds an instant, and its product with ``_LONGER`` without a step to floating point."""


@dataclass(frozen=True, slots=True, order=True)
class Gap:
    """One gap of a partition in one direction; UTC µs.

    Attributes:
        group: reading group; empty for writes.
        open_end: nothing succeeded after it; ``end`` is the run's end.
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


def thresholds(steady: Mapping[tuple[str, str], tuple[int, int]]) -> dict[tuple[str, str], int]:
    """Return (direction, group) → threshold in µs where it is known.

    Args:
        steady: (direction, group) → (operations, 99th percentile in µs) of the steady time.
    """
    return {
        key: max(2, THRESHOLD_FACTOR * p99)
        for key, (count, p99) in steady.items()
        if count >= MIN_STEADY
    }


def timed(
    rows: DataFrame, named: Lanes, limits: Mapping[tuple[str, str], int], *, block: int = 1
) -> DataFrame:
    """Return operations with ``lim``, whether they are ``late``, and the ``slot`` they stand in.

    Those of a block in which none was late stand in the slot in which it begins: such a block
    begins no gap, and what ends one is the earliest success of all that are later.

    Args:
        rows: operations (``krt_scoring.metrics.operations``).
        named: what the numbers of their lanes and partitions mean.
        limits: (direction, group) → threshold in µs; what has none is not measured.
        block: slots to a block; the gaps found are the same whatever it is.
    """
    late = sf.col("done").isNull() | (sf.col("done") - sf.col("due") > sf.col("lim"))
    found = (
        rows.where("tp IS NOT NULL")
        .withColumn("lim", _limit(limits, named))
        .where("lim IS NOT NULL")
        .withColumn("late", late)
        .withColumn("slot", sf.expr("due div (lim div 2)"))
    )
    if block == 1:
        return found
    found = found.withColumn("block", sf.expr(f"slot div {block}"))
    apart = found.where("late").select(*_KEY, "block").distinct().withColumn("fine", sf.lit(1))
    slot = sf.expr(f"if(fine = 1, slot, block * {block})")
    return found.join(sf.broadcast(apart), [*_KEY, "block"], "left").withColumn("slot", slot)


def find(
    rows: DataFrame, named: Lanes, end: int, windows: Sequence[FaultWindow]
) -> tuple[list[Gap], list[PartitionOperations]]:
    """Return every gap at least as long as its threshold, and what was due where.

    Args:
        rows: operations, ``timed``.
        named: what the numbers of their lanes and partitions mean.
        end: when the run ended, UTC µs: the end of gaps that never closed.
        windows: the faults.
    """
    slots = _slots(rows, windows)
    # From the last slot back: a frame that only grows is read once, one that shrinks is read again
    # for every row, which takes the square of the slots.
    back = Window.partitionBy(*_KEY).orderBy(sf.desc("slot"))
    so_far = back.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    later = sf.min("done").over(back.rowsBetween(Window.unboundedPreceding, -1))
    # Where operations done in time stand behind all late ones or ahead of all of them, what the
    # slot holds is enough. Between them the gap can only begin behind the last one done in time.
    ahead = sf.col("first_late") > sf.coalesce("last_ok", sf.lit(-1))
    behind = sf.col("first_late") < sf.col("first_ok")
    mixed = sf.col("last_late") > sf.col("last_ok")
    early = sf.when(ahead | behind, sf.col("first_late"))
    own = sf.when(ahead, sf.col("late_done")).when(behind, sf.col("done"))
    marked = (
        slots.withColumn("total", sf.sum("due").over(so_far))
        .withColumn("progress", sf.sum("progress").over(so_far))
        .withColumn("is_first", sf.lead("slot").over(back).isNull())
        .withColumn("later", later)
        .withColumn("start", sf.when(mixed & ~ahead, sf.col("last_ok")).otherwise(early))
        .withColumn("own", sf.when(mixed & ~ahead, sf.col("last_late_done")).otherwise(own))
        .withColumn("success", sf.least("own", "later"))
        .withColumn("gone", sf.coalesce("success", sf.lit(end)))
        .withColumn("is_gap", sf.expr("coalesce(gone - start >= lim, false)"))
        .where("is_gap OR is_first")
        .repartition(1)
        .sortWithinPartitions(*_KEY, "slot")
    )
    return _merge((row.asDict() for row in marked.toLocalIterator()), named)


def _merge(
    rows: Iterable[dict[str, Any]], named: Lanes
) -> tuple[list[Gap], list[PartitionOperations]]:
    """Join the slots of one gap; rows come by partition and, in it, in order of time."""
    gaps: list[Gap] = []
    measured: list[PartitionOperations] = []
    open_until: dict[tuple[str, str, str, int], int] = {}
    for row in rows:
        key = named.name(row["lane"], row["tp"])
        if row["is_first"]:
            measured.append(
                PartitionOperations(*key, scheduled=row["total"], during_faults=row["progress"])
            )
        if row["is_gap"] and row["start"] >= open_until.get(key, 0):
            gaps.append(Gap(*key, row["start"], row["gone"], row["success"] is None))
            open_until[key] = row["gone"]
    return sorted(gaps), sorted(measured)


def _limit(limits: Mapping[tuple[str, str], int], named: Lanes) -> Column:
    expression = sf.lit(None).cast("long")
    for kind, limit in sorted(limits.items()):
        here = sf.col("lane") == named.number(kind)
        expression = sf.when(here, sf.lit(limit).cast("long")).otherwise(expression)
    return expression


def _slots(rows: DataFrame, windows: Sequence[FaultWindow]) -> DataFrame:
    """Fold operations into their slots."""
    during = during_column(sf.col("due"), sf.col("due"), windows)
    # Of operations due at one instant, as all are that one answer acked, the first one done.
    took = sf.least(sf.col("done") - sf.col("due"), sf.lit(_LONGEST)).cast(_WIDE)
    latest = sf.col("due").cast(_WIDE) * _LONGER - sf.coalesce(took, sf.lit(_LONGER).cast(_WIDE))
    return rows.groupBy(*_KEY, "slot", "lim").agg(
        sf.count("*").alias("due"),
        sf.count_if(during & sf.col("done").isNotNull()).alias("progress"),
        sf.min("done").alias("done"),
        sf.min(sf.when(sf.col("late"), sf.col("due"))).alias("first_late"),
        sf.max(sf.when(sf.col("late"), sf.col("due"))).alias("last_late"),
        sf.min(sf.when(sf.col("late"), sf.col("done"))).alias("late_done"),
        sf.max_by("done", sf.when(sf.col("late"), latest)).alias("last_late_done"),
        sf.min(sf.when(~sf.col("late"), sf.col("due"))).alias("first_ok"),
        sf.max(sf.when(~sf.col("late"), sf.col("due"))).alias("last_ok"),
    )
