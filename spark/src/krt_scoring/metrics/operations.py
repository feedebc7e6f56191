"""What was due and when it was done: the base of availability, latency and recovery.

A *write* is due at its scheduled time and done when it was acked, whether its transaction was
committed or aborted afterwards: that does not depend on its partition. A *read* by a group is due
when the record was acked, since no group can expect it earlier, and done when it was first
delivered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.history.record_columns import (
    ACKED,
    UNDONE_ACK,
    delivered_at,
    has,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.history.history import History
    from krt_scoring.history.positions import Positions

WRITE, READ, END_TO_END = "write", "read", "endToEnd"

WRITES = 0
"""Lane of the writes; the reads of the group of index i have lane i + 1."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """What the numbers of an operation's lane and topic-partition mean.

    Attributes:
        groups: names of the groups, by index.
        places: the run's topics.
    """

    groups: tuple[str, ...]
    positions: Positions

    def name(self, lane: int, tp: int) -> tuple[str, str, str, int]:
        """Return direction, group (empty for writes), topic and partition."""
        return (*self.kind(lane), *self.positions.name(tp))

    def kind(self, lane: int) -> tuple[str, str]:
        """Return direction and group of a lane."""
        return (WRITE, "") if lane == WRITES else (READ, self.groups[lane - 1])

    def number(self, kind: tuple[str, str]) -> int:
        """Return the lane of a direction and group."""
        return WRITES if kind[0] == WRITE else self.groups.index(kind[1]) + 1


def lanes(history: History) -> Lanes:
    """Return what the numbers of a history's operations mean."""
    return Lanes(tuple(group.name for group in history.facts.groups), history.facts.positions)


def operations(history: History) -> DataFrame:
    """Return every operation, from the records that are cached already.

    Columns: ``lane, tp`` (null where the partition is not known), ``outcome`` code,
    ``scheduled_at, due, done`` (null when it was never done), ``ended`` (when it was done or
    given up), ``skew``. Failed and unknown sends are writes that were never done, but for those
    acked ones that an abort undid.
    """
    groups = history.facts.groups
    # Numbers, repeated for each record, and a choice by number: a fraction of what it costs to
    # make an array of structs of every record.
    lanes_of_each = sf.array(*[sf.lit(lane) for lane in range(len(groups) + 1)])
    rows = history.records.rows.where("outcome IS NOT NULL").select(
        *("tp", "outcome", "bits", "scheduled_at", "sent_at", "done_at", "drift"),
        *[delivered_at(group) for group in groups],
        sf.explode(lanes_of_each).alias("lane"),
    )
    reached = sf.lit(None).cast("long")
    for group in groups:
        reached = sf.when(sf.col("lane") == group.index + 1, sf.col(delivered_at(group))).otherwise(
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
