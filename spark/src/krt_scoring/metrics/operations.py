"""What was due and when it was done: the base of availability, latency and recovery.

A *write* is due at its scheduled time and done when it was acked, whether its transaction was
committed or aborted afterwards: that was not for its partition to say. A *read* by a group is due
when the record was acked, since nobody can be owed it earlier, and done when it was first handed
out. One pass counts both in bins; the records themselves stay in Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from krt_contract.timeline import EventName, Source
from krt_scoring.history.records import (
    ACKED,
    OUTCOME_CODES,
    UNDONE_ACK,
    handed,
    has,
)
from krt_scoring.inputs.fault_windows import PARTS, part_column
from krt_scoring.metrics.histogram import Histogram, bin_column, merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.base import Base
    from krt_scoring.history.positions import Places
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.timeline import Timeline

WRITE, READ, END_TO_END = "write", "read", "endToEnd"
STARTUP = "startup"
"""Before traffic is established: connections and group memberships are still being made."""

AFTER = "Injecting"
"""The phase that follows the warm-up."""

WRITES = 0
"""Lane of the writes; the reads of the group of index i have lane i + 1."""

_OUTCOMES = {code: name for name, code in OUTCOME_CODES.items()}


@dataclass(frozen=True, slots=True)
class Lanes:
    """What the numbers of an operation's lane and topic-partition mean.

    Attributes:
        groups: names of the groups, by index.
        places: the run's topics.
    """

    groups: tuple[str, ...]
    places: Places

    def name(self, lane: int, tp: int) -> tuple[str, str, str, int]:
        """Return direction, group (empty for writes), topic and partition."""
        return (*self.kind(lane), *self.places.name(tp))

    def kind(self, lane: int) -> tuple[str, str]:
        """Return direction and group of a lane."""
        return (WRITE, "") if lane == WRITES else (READ, self.groups[lane - 1])

    def number(self, kind: tuple[str, str]) -> int:
        """Return the lane of a direction and group."""
        return WRITES if kind[0] == WRITE else self.groups.index(kind[1]) + 1


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
    entered = [
        event.at for event in timeline.of(Source.PHASE, EventName.ENTERED) if event.subject == AFTER
    ]
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


def lanes(base: Base) -> Lanes:
    """Return what the numbers of a history's operations mean."""
    return Lanes(tuple(group.name for group in base.facts.groups), base.facts.places)


def operations(base: Base) -> DataFrame:
    """Return every operation, from the records that are cached already.

    Columns: ``lane, tp`` (null where the partition is not known), ``outcome`` code,
    ``scheduled_at, due, done`` (null when it was never done), ``ended`` (when it was done or
    given up), ``skew``. Failed and unknown sends are writes that were never done, but for those
    acked ones that an abort undid.
    """
    groups = base.facts.groups
    # Numbers, repeated for each record, and a choice by number: a fraction of what it costs to
    # make an array of structs of every record.
    lanes_of_each = sf.array(*[sf.lit(lane) for lane in range(len(groups) + 1)])
    rows = base.records.where("outcome IS NOT NULL").select(
        *("tp", "outcome", "bits", "scheduled_at", "sent_at", "done_at", "drift"),
        *[handed(group) for group in groups],
        sf.explode(lanes_of_each).alias("lane"),
    )
    reached = sf.lit(None).cast("long")
    for group in groups:
        reached = sf.when(sf.col("lane") == group.index + 1, sf.col(handed(group))).otherwise(
            reached
        )
    write = sf.col("lane") == WRITES
    acked = sf.col("outcome") == ACKED
    # A consumer may be handed a record before the producer hears of its ack.
    read = sf.greatest("reached", "done_at")
    return (
        rows.withColumn("reached", reached)
        .where(write | (acked & sf.col("reached").isNotNull()))
        .select(
            *("lane", "tp", "outcome", "scheduled_at"),
            sf.when(write, sf.col("scheduled_at")).otherwise(sf.col("done_at")).alias("due"),
            sf.when(~write, read).when(acked | has(UNDONE_ACK), sf.col("done_at")).alias("done"),
            sf.when(write, sf.col("done_at")).otherwise(read).alias("ended"),
            sf.when(write, sf.col("drift"))
            .otherwise(sf.greatest(sf.col("sent_at") - sf.col("reached"), sf.lit(0).cast("long")))
            .alias("skew"),
        )
    )


def count(
    rows: DataFrame,
    named: Lanes,
    span: Span,
    windows: Sequence[FaultWindow],
    whole: Sequence[int | None],
) -> Operations:
    """Count all operations in one pass; what comes back is bounded by bins, not by records.

    Args:
        rows: every operation.
        named: what their numbers mean.
        span: when the run's operations were due.
        windows: the faults.
        whole: for each fault, when every ISR was whole again; None where it never was.
    """
    since = sf.when(sf.col("whole_way"), sf.col("scheduled_at")).otherwise(sf.col("due"))
    counted = (
        rows.withColumn("part", _part(span, windows))
        .withColumn("fault", _open_fault(windows, whole))
        .select("*", sf.explode(sf.array(sf.lit(col=False), sf.lit(col=True))).alias("whole_way"))
        # A write is due when it was scheduled: its whole way is measured already.
        .where(~sf.col("whole_way") | (sf.col("lane") != WRITES))
        .withColumn("micros", sf.col("done") - since)
        .groupBy(
            *("whole_way", "lane", "part", "outcome", "fault"),
            bin_column(sf.col("micros")).alias("bin"),
        )
        .agg(
            sf.count("*").alias("n"),
            sf.max("micros").alias("largest"),
            sf.max("skew").alias("skew"),
            sf.max("done").alias("done"),
        )
    )
    result = Operations()
    for row in counted.collect():
        _add(result, named, row.asDict())
    return result


_PARTS = (STARTUP, *PARTS)


def _part(span: Span, windows: Sequence[FaultWindow]) -> Column:
    """Index of the part of the run in ``_PARTS``."""
    part = part_column(sf.col("due"), sf.col("ended"), windows)
    return sf.when(sf.col("due") < span.steady, 0).otherwise(part + 1)


def _open_fault(windows: Sequence[FaultWindow], whole: Sequence[int | None]) -> Column:
    """Index of the latest fault that had not been made good when a read was due, else -1."""
    expression = sf.lit(-1)
    for index, (window, end) in enumerate(zip(windows, whole, strict=True)):
        if window.injected_at is None:
            continue
        inside = (sf.col("lane") != WRITES) & (sf.col("due") >= window.injected_at)
        if end is not None:
            inside &= sf.col("due") <= end
        expression = sf.when(inside, index).otherwise(expression)
    return expression


def _add(result: Operations, named: Lanes, row: dict[str, Any]) -> None:
    direction, group = named.kind(row["lane"])
    part, number = _PARTS[row["part"]], row["n"]
    if direction == WRITE:
        key = (part, _OUTCOMES[row["outcome"]])
        result.outcomes[key] = result.outcomes.get(key, 0) + number
    result.skew = max(result.skew, row["skew"] or 0)
    if row["bin"] is None:
        return
    kind = END_TO_END if row["whole_way"] else direction
    histogram = result.histograms.setdefault((kind, group, part), Histogram())
    histogram.add(row["bin"], number, row["largest"])
    fault = row["fault"]
    if kind == READ and fault >= 0:
        result.last_read[fault] = max(result.last_read.get(fault, 0), row["done"])
