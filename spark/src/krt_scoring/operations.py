"""What was due and when it was done: the base of availability, latency and recovery.

A *write* is due at its scheduled time and done when it was acked. A *read* by a group is due when
the record was acked, since nobody can be owed it earlier, and done when it was first handed out.
One pass counts both in bins; the records themselves stay in Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import functions as sf

from krt_scoring.histogram import Histogram, bin_column, merge
from krt_scoring.windows import part_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from krt_scoring.history import History
    from krt_scoring.timeline import Timeline
    from krt_scoring.windows import FaultWindow

WRITE, READ, END_TO_END = "write", "read", "endToEnd"
STARTUP = "startup"
"""Before traffic is established: connections and group memberships are still being made."""

AFTER = "Injecting"
"""The phase that follows the warm-up."""


@dataclass(frozen=True, slots=True)
class Span:
    """When the run's operations were due; UTC µs.

    Attributes:
        first: earliest scheduled send.
        steady: from here on traffic is established; nothing earlier is measured.
        end: when the last operation of the run was done.
    """

    first: int
    steady: int
    end: int


def steady_from(
    first: int,
    last: int,
    timeline: Timeline,
    windows: Sequence[FaultWindow],
    warmup: int,
) -> int:
    """Return when traffic was established, UTC µs.

    The warm-up is counted once every producer and consumer is at work, so it is the last part of
    the phase Warmup; where the timeline does not show the phase, or there is no warm-up, it is
    the second half of the time before any fault.

    Args:
        first: earliest scheduled send.
        last: latest scheduled send.
        timeline: the run's events.
        windows: the faults.
        warmup: ``spec.warmup`` in µs.
    """
    entered = [event.at for event in timeline.of("phase", "entered") if event.subject == AFTER]
    if entered and warmup:
        return max(first, min(entered) - warmup)
    injected = [w.injected_at for w in windows if w.injected_at is not None]
    return first + max(0, min([*injected, last]) - first) // 2


@dataclass(slots=True)
class Operations:
    """What the one pass over all operations counted.

    Attributes:
        histograms: (kind, group, part) → latencies; kind write, read or endToEnd, group empty
            for writes, part startup, before, during or after.
        outcomes: (part, outcome) → sends.
        skew: largest disagreement of clocks seen, µs: a record handed out before it was sent,
            or a clock that ran otherwise than its host's monotonic one.
        last_read: index of the fault → when the last read due before ISRs were whole was done.
    """

    histograms: dict[tuple[str, str, str], Histogram] = field(default_factory=dict)
    outcomes: dict[tuple[str, str], int] = field(default_factory=dict)
    skew: int = 0
    last_read: dict[int, int] = field(default_factory=dict)

    def sends(self, *parts: str, outcome: str | None = None) -> int:
        """Return the sends of some parts of the run, of one outcome if given."""
        return sum(
            count
            for (part, found), count in self.outcomes.items()
            if part in parts and outcome in (None, found)
        )

    def latency(self, kind: str, *parts: str, group: str | None = None) -> Histogram:
        """Return the latencies of a kind over some parts of the run."""
        return merge(
            histogram
            for (found, owner, part), histogram in sorted(self.histograms.items())
            if found == kind and part in parts and group in (None, owner)
        )

    @property
    def groups(self) -> list[str]:
        """Groups that read anything."""
        return sorted({owner for kind, owner, _ in self.histograms if kind == READ})


def operations(history: History, parallelism: int) -> DataFrame:
    """Return every operation, kept for the two passes that need it.

    Columns: direction, grp, topic, partition, outcome, scheduled_at, due, done (null when it was
    never done), skew. Failed and unknown sends are writes that were never done.
    """
    sends = history.produce.select(
        "producer_incarnation",
        "seq",
        "topic",
        "partition",
        "scheduled_at",
        "sent_at",
        "done_at",
        "outcome",
        sf.abs(
            (sf.col("done_at") - sf.col("sent_at")) - (sf.col("done_mono") - sf.col("sent_mono"))
        ).alias("drift"),
    )
    acked = sf.col("outcome") == "acked"
    writes = sends.select(
        sf.lit(WRITE).alias("direction"),
        sf.lit("").alias("grp"),
        "topic",
        "partition",
        "outcome",
        "scheduled_at",
        sf.col("scheduled_at").alias("due"),
        sf.when(acked, sf.col("done_at")).alias("done"),
        sf.col("drift").alias("skew"),
    )
    return writes.unionByName(_reads(history, sends, parallelism)).persist(
        StorageLevel.MEMORY_AND_DISK
    )


def _reads(history: History, sends: DataFrame, parallelism: int) -> DataFrame:
    # Both sides are laid out by the join's keys, so that finding the first delivery and joining
    # it to its send cost one exchange each; an incarnation is a pod uid, unique by itself.
    keys = ["producer_incarnation", "seq"]
    first = (
        history.consume.where("outcome = 'ok' AND seq IS NOT NULL")
        .select(sf.col("group").alias("grp"), *keys, "handed_at")
        .repartition(parallelism, *keys)
        .groupBy("grp", *keys)
        .agg(sf.min("handed_at").alias("handed_at"))
    )
    owed = sends.where("outcome = 'acked'").repartition(parallelism, *keys)
    joined = owed.join(first, keys)
    return joined.select(
        sf.lit(READ).alias("direction"),
        "grp",
        "topic",
        "partition",
        sf.lit("acked").alias("outcome"),
        "scheduled_at",
        sf.col("done_at").alias("due"),
        # A consumer may be handed a record before the producer hears of its ack.
        sf.greatest("handed_at", "done_at").alias("done"),
        sf.greatest(sf.col("sent_at") - sf.col("handed_at"), sf.lit(0)).alias("skew"),
    )


def count(
    rows: DataFrame,
    span: Span,
    windows: Sequence[FaultWindow],
    whole: Sequence[int | None],
) -> Operations:
    """Count all operations in one pass; what comes back is bounded by bins, not by records.

    Args:
        rows: every operation.
        span: when the run's operations were due.
        windows: the faults.
        whole: for each fault, when every ISR was whole again; None where it never was.
    """
    latency = sf.col("done") - sf.col("due")
    since_scheduled = sf.col("done") - sf.col("scheduled_at")
    measured = sf.when(
        sf.col("direction") == READ,
        sf.array(_measure(READ, latency), _measure(END_TO_END, since_scheduled)),
    ).otherwise(sf.array(_measure(WRITE, latency)))
    part = sf.when(sf.col("due") < span.steady, STARTUP).otherwise(
        part_column(sf.col("due"), windows)
    )
    counted = (
        rows.withColumn("part", part)
        .withColumn("fault", _open_fault(windows, whole))
        .select("*", sf.explode(measured).alias("measure"))
        .groupBy("measure.kind", "grp", "part", "outcome", "fault", "measure.bin")
        .agg(
            sf.count("*").alias("n"),
            sf.max("measure.micros").alias("largest"),
            sf.max("skew").alias("skew"),
            sf.max("done").alias("done"),
        )
    )
    result = Operations()
    for row in counted.toLocalIterator():
        _add(result, row.asDict())
    return result


def _measure(kind: str, micros: Column) -> Column:
    return sf.struct(
        sf.lit(kind).alias("kind"), bin_column(micros).alias("bin"), micros.alias("micros")
    )


def _open_fault(windows: Sequence[FaultWindow], whole: Sequence[int | None]) -> Column:
    """Index of the latest fault that had not been made good when a read was due, else -1."""
    expression = sf.lit(-1)
    for index, (window, end) in enumerate(zip(windows, whole, strict=True)):
        if window.injected_at is None:
            continue
        inside = (sf.col("direction") == READ) & (sf.col("due") >= window.injected_at)
        if end is not None:
            inside &= sf.col("due") <= end
        expression = sf.when(inside, index).otherwise(expression)
    return expression


def _add(result: Operations, row: dict[str, int | str | None]) -> None:
    kind, part, number = str(row["kind"]), str(row["part"]), int(row["n"] or 0)
    if kind == WRITE:
        key = (part, str(row["outcome"]))
        result.outcomes[key] = result.outcomes.get(key, 0) + number
    result.skew = max(result.skew, int(row["skew"] or 0))
    if row["bin"] is None:
        return
    histogram = result.histograms.setdefault((kind, str(row["grp"]), part), Histogram())
    histogram.add(int(row["bin"]), number, int(row["largest"] or 0))
    fault = int(row["fault"] if row["fault"] is not None else -1)
    if kind == READ and fault >= 0:
        result.last_read[fault] = max(result.last_read.get(fault, 0), int(row["done"] or 0))
