"""Intervals of ownership: which consumer incarnation owned which partition, from when to when.

An interval is known by its incarnation and a range of ``event_seq``, the incarnation's own order;
times are for comparing members with each other. There are as many as there were assignments, so
the driver keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from krt_scoring.engine import local_rows
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from krt_scoring.history.facts import Facts

_LANE = {"group_index": "int", "tp": "long", "incarnation": "string"}
"""What an ownership is of. The types are part of it: a hash tells 1 as an int from 1 as a long."""


@dataclass(frozen=True, slots=True)
class Interval:
    """One ownership of one partition.

    Attributes:
        number: its index in the order (group, topic-partition, begin).
        first_seq, last_seq: ``event_seq`` of the incarnation's events within, last exclusive.
        begin, end: in UTC µs; end is FOREVER where nothing says that it ended.
        start: offset it was assigned at, None where not known.
        delivered: offset of the first ok delivery in it, None where there was none.
        committed: the group's last known commit before it began, None where there was none.
        committed_at: when that commit was confirmed, UTC µs.
        lapse: when the group's session for the member had expired because its process was frozen;
            FOREVER where that did not happen.
        tolerated: until when the member may go on after that, not knowing.
    """

    number: int
    group: int
    tp: int
    consumer: str
    incarnation: str
    first_seq: int
    last_seq: int
    begin: int
    end: int
    start: int | None
    generation: int | None
    committed: int | None = None
    committed_at: int | None = None
    delivered: int | None = None
    lapse: int = FOREVER
    tolerated: int = FOREVER


_SCHEMA = StructType(
    [
        StructField("interval", IntegerType()),
        StructField("group_index", IntegerType()),
        StructField("tp", LongType()),
        StructField("incarnation", StringType()),
        StructField("first_seq", LongType()),
        StructField("last_seq", LongType()),
        StructField("begin", LongType()),
        StructField("end", LongType()),
        StructField("committed", LongType()),
        StructField("lapse", LongType()),
        StructField("tolerated", LongType()),
    ]
)


@dataclass(frozen=True, slots=True)
class Member:
    """A consumer incarnation in a group.

    Attributes:
        joined: when it first owned a partition, and again each time after it had left, UTC µs.
        left: each time that it left or died, UTC µs.
    """

    group: int
    incarnation: str
    joined: tuple[int, ...]
    left: tuple[int, ...]


def table(spark: SparkSession, intervals: tuple[Interval, ...]) -> DataFrame:
    """Return the intervals as a DataFrame."""
    rows = [
        (
            item.number,
            item.group,
            item.tp,
            item.incarnation,
            item.first_seq,
            item.last_seq,
            item.begin,
            item.end,
            item.committed,
            item.lapse,
            item.tolerated,
        )
        for item in intervals
    ]
    return local_rows.frame(spark, rows, _SCHEMA)


def owned_by(rows: DataFrame, intervals: DataFrame) -> DataFrame:
    """Return rows with the interval they fall into.

    Args:
        rows: with ``group_index, tp, incarnation, event_seq``.
        intervals: as ``table`` returns them.
    """
    # One number to look up, where a text and two numbers would be compared for each row.
    lane = sf.xxhash64(*[sf.col(name).cast(kind) for name, kind in _LANE.items()])
    kept = [name for name in intervals.columns if name not in _LANE]
    side = sf.broadcast(intervals.select(lane.alias("_of"), *kept))
    here = (sf.col("event_seq") >= sf.col("first_seq")) & (sf.col("event_seq") < sf.col("last_seq"))
    return (
        rows.withColumn("_lane", lane)
        .join(side, (sf.col("_lane") == sf.col("_of")) & here, "left")
        .select(*rows.columns, *kept)
    )


def with_lane(rows: DataFrame, facts: Facts) -> DataFrame:
    """Return consume or event rows of the run's groups and topics with ``group_index, tp``."""
    return rows.withColumns(
        {"group_index": facts.group_index(), "tp": facts.positions.tp_column()}
    ).filter(sf.col("tp").isNotNull() & sf.col("group_index").isNotNull())
