"""Extents: what was done on a partition in each interval of ownership, and outside any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome
from krt_scoring.history.intervals import owned_by, with_lane
from krt_scoring.history.record_columns import taken_back

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import Tables


@dataclass(frozen=True, slots=True)
class Extent:
    """What was done on a partition in one interval of ownership.

    Attributes:
        interval: its number; None for what members did that nothing says they owned.
        last_at: when anything was last delivered or committed, UTC µs.
        low, high: lowest and highest position delivered ok; None where none was.
    """

    interval: int | None
    group: int
    tp: int
    last_at: int
    low: int | None
    high: int | None

    def order(self) -> tuple[int, int, int]:
        """Order by group and partition, then interval; what is outside any comes first."""
        return self.group, self.tp, -1 if self.interval is None else self.interval


def collect(tables: Tables, facts: Facts, intervals: DataFrame) -> tuple[Extent, ...]:
    """Return the extents in order; one pass over the deliveries."""

    def part(rows: DataFrame, at: Column, position: Column) -> DataFrame:
        return with_lane(rows, facts).select(
            *("group_index", "tp", "incarnation", "event_seq"),
            at.alias("last_at"),
            position.alias("position"),
        )

    committed = tables.consumer_events.filter(sf.col("event") == ConsumerEvent.COMMITTED.value)
    # A fenced member may go on delivering what its transaction never commits.
    valid = tables.consume.filter(~taken_back(facts))
    delivered = sf.when(sf.col("outcome") == DeliveryOutcome.OK.value, facts.positions.column())
    nowhere = sf.lit(None).cast("long")
    activity = part(valid, sf.col("delivered_at"), delivered).unionAll(
        part(committed, sf.col("at"), nowhere)
    )
    rows = (
        owned_by(activity, intervals)
        .groupBy("interval", "group_index", "tp")
        .agg(
            sf.max("last_at").alias("last_at"),
            sf.min("position").alias("low"),
            sf.max("position").alias("high"),
        )
        .collect()
    )
    found = [
        Extent(
            row["interval"], row["group_index"], row["tp"], row["last_at"], row["low"], row["high"]
        )
        for row in rows
    ]
    return tuple(sorted(found, key=Extent.order))
