"""Operations counted in one pass: latencies in bins, outcomes of sends, the last read of a fault.

The records themselves stay in Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from krt_scoring.history.record_columns import OUTCOME_CODES
from krt_scoring.inputs.fault_windows import PARTS, part_column
from krt_scoring.metrics.histogram import bin_column
from krt_scoring.metrics.latency import Latencies
from krt_scoring.metrics.operations import END_TO_END, READ, WRITE, WRITES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.metrics.operations import Lanes
    from krt_scoring.metrics.span import Span

STARTUP = "startup"
"""Before traffic is established: connections and group memberships are still being made."""

_PARTS = (STARTUP, *PARTS)
_OUTCOMES = {code: name for name, code in OUTCOME_CODES.items()}


@dataclass(slots=True)
class OperationCounts:
    """What the one pass over all operations counted.

    Attributes:
        latencies: of all operations that were done.
        outcomes: (part of the run, outcome) → sends; the parts are startup, before, during, after.
        skew: largest disagreement of clocks seen, µs: a record delivered before it was sent, or a
            clock that ran otherwise than its host's monotonic one.
        last_read: index of the fault → when the last read was done that was due before
            ISRs were complete and traffic flowed again.
    """

    latencies: Latencies = field(default_factory=Latencies)
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


def count(
    rows: DataFrame,
    named: Lanes,
    span: Span,
    windows: Sequence[FaultWindow],
    available: Sequence[int | None],
) -> OperationCounts:
    """Count all operations in one pass; what comes back is bounded by bins, not by records.

    Args:
        rows: every operation.
        named: what their numbers mean.
        span: when the run's operations were due.
        windows: the faults.
        available: for each fault, when ISRs were complete and traffic flowed again; None: never.
    """
    since = sf.when(sf.col("end_to_end"), sf.col("scheduled_at")).otherwise(sf.col("due"))
    counted = (
        rows.withColumn("part", _part(span, windows))
        .withColumn("fault", _open_fault(windows, available))
        .select("*", sf.explode(sf.array(sf.lit(col=False), sf.lit(col=True))).alias("end_to_end"))
        # A write is due when it was scheduled: its latency end to end is measured already.
        .where(~sf.col("end_to_end") | (sf.col("lane") != WRITES))
        .withColumn("micros", sf.col("done") - since)
        .groupBy(
            *("end_to_end", "lane", "part", "outcome", "fault"),
            bin_column(sf.col("micros")).alias("bin"),
        )
        .agg(
            sf.count("*").alias("n"),
            sf.max("micros").alias("largest"),
            sf.max("skew").alias("skew"),
            sf.max("done").alias("done"),
        )
    )
    result = OperationCounts()
    for row in counted.collect():
        _add(result, named, row.asDict())
    return result


def _part(span: Span, windows: Sequence[FaultWindow]) -> Column:
    """Index of the part of the run in ``_PARTS``."""
    part = part_column(sf.col("due"), sf.col("ended"), windows)
    return sf.when(sf.col("due") < span.steady, 0).otherwise(part + 1)


def _open_fault(windows: Sequence[FaultWindow], available: Sequence[int | None]) -> Column:
    """Index of the latest fault that was not recovered from when a read was due, else -1."""
    expression = sf.lit(-1)
    for index, (window, end) in enumerate(zip(windows, available, strict=True)):
        if window.injected_at is None:
            continue
        inside = (sf.col("lane") != WRITES) & (sf.col("due") >= window.injected_at)
        if end is not None:
            inside &= sf.col("due") <= end
        expression = sf.when(inside, index).otherwise(expression)
    return expression


def _add(result: OperationCounts, named: Lanes, row: dict[str, Any]) -> None:
    direction, group = named.kind(row["lane"])
    part, number = _PARTS[row["part"]], row["n"]
    if direction == WRITE:
        key = (part, _OUTCOMES[row["outcome"]])
        result.outcomes[key] = result.outcomes.get(key, 0) + number
    result.skew = max(result.skew, row["skew"] or 0)
    if row["bin"] is None:
        return
    kind = END_TO_END if row["end_to_end"] else direction
    result.latencies.add((kind, group, part), row["bin"], number, row["largest"])
    fault = row["fault"]
    if kind == READ and fault >= 0:
        result.last_read[fault] = max(result.last_read.get(fault, 0), row["done"])
