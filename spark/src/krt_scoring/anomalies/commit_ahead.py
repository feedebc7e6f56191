"""commit-ahead: a commit above a visible, owed record that was never handed to the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from krt_contract.outcomes import ConsumerEvent
from krt_scoring.allowances import consequences
from krt_scoring.anomalies.schema import finding
from krt_scoring.engine.dataframes import union_all
from krt_scoring.history import intervals
from krt_scoring.history.positions import OFFSET_BITS
from krt_scoring.history.record_columns import REACHED, owed, received_state
from krt_scoring.history.records import with_offsets

if TYPE_CHECKING:
    from krt_scoring.anomalies.context import Context

NAME = "commit-ahead"


def possible(ctx: Context) -> bool:
    """Whether any record was never handed to a group."""
    return ctx.history.records.totals["skipped"] > 0


def find(ctx: Context) -> DataFrame:
    """Return one finding a commit; positions legally pass markers, only records count.

    What the abort of a transaction took back was not handed out, nor what an ok delivery gave out
    from where the log does not hold it.
    """
    never = [
        ctx.suspects.filter(
            sf.col(owed(group))
            & (sf.col(received_state(group)) < REACHED)
            & ~ctx.history.facts.never_sent()
        ).select(sf.lit(group.index).alias("group_index"), "tp", "offset")
        for group in ctx.history.facts.groups
    ]
    passed = consequences.with_spans(union_all(never), ctx.allowances.consequences).withColumn(
        "rule", consequences.passing_rule(sf.col("offset"))
    )
    # The lowest record that nothing excuses decides; else the lowest one.
    missing = passed.groupBy("group_index", "tp").agg(
        sf.min("offset").alias("lowest"),
        sf.min(sf.when(sf.col("rule").isNull(), sf.col("offset"))).alias("unexcused"),
        sf.min_by("rule", "offset").alias("rule"),
    )
    commits = intervals.with_lane(
        ctx.history.tables.consumer_events.filter(sf.col("event") == ConsumerEvent.COMMITTED.value),
        ctx.history.facts,
    )
    ahead = commits.join(sf.broadcast(missing), ["group_index", "tp"]).filter(
        sf.col("offset") > sf.col("lowest")
    )
    accused = sf.coalesce(sf.col("offset") > sf.col("unexcused"), sf.lit(col=False))
    position = sf.shiftleft(sf.col("tp"), OFFSET_BITS).bitwiseOR(sf.col("offset"))
    shown = with_offsets(ahead.withColumn("position", position), ctx.history.facts)
    missing_offset = sf.when(accused, sf.col("unexcused")).otherwise(sf.col("lowest"))
    return finding(
        NAME,
        shown,
        rule=sf.when(~accused, sf.col("rule")),
        grp="group",
        detail=sf.to_json(sf.struct(missing_offset.alias("missing"), "at")),
    )
