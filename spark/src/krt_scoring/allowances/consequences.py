"""What follows from a permitted truncation, and is permitted with it.

A group may have read beyond the first offset that was cut by an election that permits the loss of
committed records. It goes on reading above it, or from its reset: between the cut and the highest
position delivered to it, it may receive offsets again, skip the records that replaced the lost
ones, or have a commit above them. Where no record delivered to the group is gone, nothing follows
for it. A record that its producer sent again, and that lies elsewhere now, is gone from where it
was delivered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from krt_scoring.engine import local_rows
from krt_scoring.history.positions import offset_of, tp_of
from krt_scoring.history.record_columns import delivery_count

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.allowances.truncations import Truncation
    from krt_scoring.history.facts import Facts

PREFIX = "after-"
"""A consequence's rule is ``after-`` and the rule of the loss it follows from."""

_SPAN = StructType(
    [
        StructField("first", LongType()),
        StructField("last", LongType()),
        StructField("rule", StringType()),
        StructField("at", LongType()),
    ]
)
SCHEMA = StructType(
    [
        StructField("group_index", IntegerType()),
        StructField("tp", LongType()),
        StructField("spans", ArrayType(_SPAN)),
    ]
)
"""Offsets, first to last, at which a group may show consequences; ``at`` of the election."""

_EVER = (1 << 62) - 1
"""Stands for a time that does not matter; above any election's."""

Spans = dict[tuple[int, int], list[tuple[int, int, str, int]]]


def derive(suspects: DataFrame, facts: Facts, truncations: tuple[Truncation, ...]) -> Spans:
    """Return per (group, topic-partition) the spans of permitted consequences."""
    permitting = [item for item in truncations if item.rule is not None]
    if not permitting or not facts.groups:
        return {}
    left = sf.greatest(_left("got_first"), _left("got_last"))
    gone = suspects.withColumn("left", left).filter(sf.col("left").isNotNull())
    reached = gone.groupBy(tp_of(sf.col("left")).alias("tp")).agg(
        *[
            sf.max(sf.when(sf.col(delivery_count(group)) > 0, offset_of(sf.col("left")))).alias(
                delivery_count(group)
            )
            for group in facts.groups
        ]
    )
    highest = {row["tp"]: row for row in reached.collect()}
    spans: Spans = {}
    for item in permitting:
        row = highest.get(item.tp)
        for group in facts.groups if row is not None else ():
            last = row[delivery_count(group)] if row is not None else None
            if last is not None and last >= item.offset:
                span = (item.offset, last, f"{PREFIX}{item.rule}", item.election.at)
                spans.setdefault((group.index, item.tp), []).append(span)
    return spans


def _left(got: str) -> Column:
    """Return a position that a record was delivered from and does not lie at any more, or null."""
    here = sf.col(got).isin(sf.col("log_first"), sf.col("log_last"))
    lies = sf.when(sf.col("readable"), here).otherwise(sf.col("present"))
    return sf.when(~sf.coalesce(lies, sf.lit(col=False)), sf.col(got))


def with_spans(rows: DataFrame, spans: Spans) -> DataFrame:
    """Return rows that have ``group_index, tp`` with the column ``spans``."""
    empty = sf.array().cast(ArrayType(_SPAN))
    if not spans:
        return rows.withColumn("spans", empty)
    listed = [(index, tp, spans[index, tp]) for index, tp in sorted(spans)]
    table = local_rows.frame(rows.sparkSession, listed, SCHEMA)
    joined = rows.join(sf.broadcast(table), ["group_index", "tp"], "left")
    return joined.withColumn("spans", sf.coalesce(sf.col("spans"), empty))


CLOCK_SLACK = 1_000_000
"""µs by which a member's clock may differ from the recorder's before that counts against one."""


def rule(offset: Column, at: Column | None = None) -> Column:
    """Return the rule that permits a consequence at ``offset``, or null.

    Args:
        offset: where it shows.
        at: when, in UTC µs: a delivery before the election is no consequence of it. None
            for what an election may turn into a finding afterwards.
    """
    when = sf.lit(_EVER) if at is None else at + CLOCK_SLACK
    hit = sf.filter(
        "spans",
        lambda span: (span["first"] <= offset) & (offset <= span["last"]) & (span["at"] <= when),
    )
    return sf.get(hit, sf.lit(0))["rule"]
