"""Offset jumps: steps of a consumer from one record to another than that of the next offset.

A step is between consecutive ok deliveries of one incarnation on a partition it kept: a seek, a
reset or a change of ownership in between excuses it, failed and unknown polls do not move the
position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome
from krt_scoring.engine.session import partitions
from krt_scoring.history import offset_ranks
from krt_scoring.history.neighbours import with_previous
from krt_scoring.history.positions import offset_of, partition_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import Tables

EXCUSING = (
    ConsumerEvent.ASSIGNED,
    ConsumerEvent.REVOKED,
    ConsumerEvent.LOST,
    ConsumerEvent.SEEK,
    ConsumerEvent.RESET,
)
"""Consumer events after which the next delivery may be anywhere."""

BUCKET_BITS = 12
"""As for sends: 4096 events of an incarnation to a bucket."""

MARK = -1
"""Position of an excusing event in the sequence of deliveries."""


def build(tables: Tables, facts: Facts) -> DataFrame:
    """Return the steps whose offset is not the one before plus one, and where deliveries begin.

    A beginning is the first ok delivery after an excusing event, or the first of all, which no
    writer of ours makes: its ``prev_position`` is MARK.
    Columns: ``consumer, incarnation, grp, tp, event_seq, poll, position, delivered_at`` of the
    later delivery, ``prev_position, prev_poll, prev_event_seq`` of the earlier; ``inside`` whether
    both lie in one poll.
    """

    def part(rows: DataFrame, position: Column, poll: Column, at: str) -> DataFrame:
        return rows.select(
            # One number to spread and sort by, where two texts would be compared for each row.
            sf.xxhash64("consumer", "incarnation", "group").alias("who"),
            "consumer",
            "incarnation",
            facts.group_index().alias("grp"),
            facts.positions.tp_column().alias("tp"),
            "event_seq",
            sf.shiftright("event_seq", BUCKET_BITS).alias("bucket"),
            poll.alias("poll"),
            position.alias("position"),
            sf.col(at).alias("delivered_at"),
        )

    deliveries = tables.consume.filter(sf.col("outcome") == DeliveryOutcome.OK.value)
    events = tables.consumer_events.filter(
        sf.col("event").isin(*EXCUSING) & sf.col("partition").isNotNull()
    )
    mark = sf.lit(MARK).cast("long")
    rows = part(deliveries, facts.positions.column(), sf.col("poll"), "delivered_at").unionAll(
        part(events, mark, mark, "at")
    )
    before = sf.coalesce("prev_position", mark)
    step = (sf.col("position") != MARK) & (
        (before == MARK) | (sf.col("position") != sf.col("prev_position") + 1)
    )
    rows = rows.repartition(partitions(rows.sparkSession), "who", "tp", "bucket")
    # A position outside the run's topics is null, and so is whether there is a step to it.
    steps = with_previous(rows, ("who", "tp"), "event_seq", ("position", "poll", "event_seq"), step)
    known = steps.filter(sf.col("grp").isNotNull()).withColumn("prev_position", before)
    return known.withColumn("inside", sf.col("poll") == sf.col("prev_poll")).drop("bucket", "who")


Lane = tuple[int, int]
"""A group's index and a topic-partition id."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The first ok delivery of an incarnation on a partition after it may begin anywhere."""

    group: int
    tp: int
    incarnation: str
    event_seq: int
    offset: int


def starts(rows: DataFrame) -> tuple[Begin, ...]:
    """Return where deliveries begin, of ``build``: at most one for each assignment or move."""
    begun = rows.filter(~is_step()).select(
        *("grp", "tp", "incarnation", "event_seq", offset_of(sf.col("position")).alias("offset"))
    )
    return tuple(Begin(*row) for row in begun.collect())


def is_step() -> Column:
    """Whether a row of ``build`` is a step, not a beginning."""
    return sf.col("prev_position") != MARK


@dataclass(frozen=True, slots=True)
class Directions:
    """Where steps lead.

    Attributes:
        forward: topic-partition ids on which some lead to a higher offset.
        back: where some lead to no higher offset, and the lowest and highest position of any.
    """

    forward: frozenset[int]
    back: dict[Lane, tuple[int, int]]


def directions(steps: DataFrame) -> Directions:
    """Return where steps lead, in one query."""
    falling = ~is_forward()
    lanes = (
        steps.groupBy("grp", "tp")
        .agg(
            sf.max(is_forward()).alias("forward"),
            sf.min(sf.when(falling, sf.col("position"))).alias("low"),
            sf.max(sf.when(falling, sf.col("prev_position"))).alias("high"),
        )
        .collect()
    )
    return Directions(
        frozenset(row["tp"] for row in lanes if row["forward"]),
        {
            (row["grp"], row["tp"]): (row["low"], row["high"])
            for row in lanes
            if row["low"] is not None
        },
    )


def count_by_lane(steps: DataFrame) -> dict[Lane, int]:
    """Return where there are steps, and how many."""
    counted = steps.groupBy("grp", "tp").count().collect()
    return {(row["grp"], row["tp"]): row["count"] for row in counted}


def skips(steps: DataFrame, tables: Tables, facts: Facts, concerned: Collection[int]) -> DataFrame:
    """Return the forward steps over at least one record visible to their group.

    Columns as of the steps, with ``skipped``, the number of those records.

    Args:
        steps: those of ``build``.
        tables: the evidence.
        facts: the run's.
        concerned: topic-partition ids on which there are forward steps.
    """
    if not concerned:
        return steps.filter(sf.lit(col=False)).withColumn("skipped", sf.lit(0).cast("long"))
    forward = steps.filter(is_forward())
    committed = [group.index for group in facts.groups if group.committed_only]
    ranked = offset_ranks.with_ranks(
        forward.withColumn("committed_only", sf.col("grp").isin(committed)),
        tables,
        facts,
        sorted(concerned),
        {"position": "rank", "prev_position": "prev_rank"},
    )
    skipped = ranked.withColumn("skipped", sf.col("rank") - sf.col("prev_rank") - 1)
    return skipped.filter(sf.col("skipped") > 0)


def is_forward() -> Column:
    """Whether a step leads to a higher offset."""
    return sf.col("position") > sf.col("prev_position")


def described(steps: DataFrame, facts: Facts) -> DataFrame:
    """Return steps with the columns of findings."""
    names = sf.array(*[sf.lit(group.name) for group in facts.groups])
    return (
        steps.withColumn("group_index", sf.col("grp"))
        .withColumn("grp", sf.get(names, sf.col("grp")))
        .withColumn("topic", facts.positions.topic_column(sf.col("tp")))
        .withColumn("partition", partition_of(sf.col("tp")))
        .withColumn("offset", offset_of(sf.col("position")))
    )
