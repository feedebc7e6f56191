"""inconsistent-offsets: one offset, two values, between acks, deliveries and log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from krt_scoring.allowances.losses import position_rule
from krt_scoring.anomalies.schema import finding
from krt_scoring.engine.dataframes import union_all
from krt_scoring.history import partition_bounds
from krt_scoring.history.identity import key, ours
from krt_scoring.history.positions import tp_of
from krt_scoring.history.record_columns import first_delivered_at
from krt_scoring.history.records import with_offsets

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.anomalies.context import Context

NAME = "inconsistent-offsets"

NOBODY, NOTHING = 0, -1
"""Key and number of what the log holds that is no record of the run."""


def possible(ctx: Context) -> bool:
    """Whether any record was reported at an offset where it does not lie, or may not."""
    return ctx.history.records.totals["misplaced"] > 0 or ctx.history.facts.unread


def find(ctx: Context) -> DataFrame:
    """Return one finding an offset.

    Two values at an offset mean that at least one record was reported at a place where it does not
    lie; only those places are looked at, together with what the log holds there. Permitted
    where the loss of every value but the log's is, at that place. A log that was not read may hold
    any one of them, so there all records are looked at, and one of them needs no permission.
    """
    reported = [
        _reports(ctx, "ack_position", delivered=False),
        _reports(ctx, "got_first", delivered=True),
        _reports(ctx, "got_last", delivered=True),
        *_between(ctx),
    ]
    positions = union_all(reported).select("position").distinct()
    reports = union_all([*reported, *([_clean(ctx)] if ctx.history.facts.unread else [])])
    mine = ours(ctx.history.tables.run)
    in_log = (
        ctx.history.tables.log.select(
            ctx.history.facts.positions.column().alias("position"),
            sf.when(mine, key()).otherwise(sf.lit(NOBODY)).alias("pk"),
            sf.when(mine, sf.col("seq")).otherwise(sf.lit(NOTHING)).alias("seq"),
        )
        .join(ctx.history.records.few(positions), "position", "left_semi")
        .select("position", "pk", "seq", sf.lit(col=True).alias("in_log"), sf.lit("").alias("rule"))
    )
    values = (
        reports.unionAll(in_log)
        .groupBy("position")
        .agg(
            ((sf.min("pk") != sf.max("pk")) | (sf.min("seq") != sf.max("seq"))).alias("differ"),
            sf.size(sf.collect_set(sf.when(sf.col("rule").isNull(), sf.struct("pk", "seq")))).alias(
                "accused"
            ),
            sf.max("rule").alias("rule"),
            sf.max("in_log").cast("int").alias("inLog"),
        )
    )
    conflicts = with_offsets(values.filter("differ"), ctx.history.facts)
    held = sf.when(_unread(ctx), 1).otherwise(0)
    rule: Column = sf.when(sf.col("accused") <= held, sf.col("rule"))
    return finding(NAME, conflicts, rule=rule, detail=sf.to_json(sf.struct("inLog")))


def _unread(ctx: Context) -> Column:
    """Whether a position is of a log that was not read."""
    return partition_bounds.start_of(tp_of(sf.col("position")), ctx.history.facts).isNull()


def _clean(ctx: Context) -> DataFrame:
    """Return the places of the clean records of logs that were not read: all were delivered."""
    position = sf.col("position")
    rows = ctx.history.records.rows.filter(
        (sf.col("anomalous") == 0) & position.isNotNull() & _unread(ctx)
    )
    delivered = rows.select(
        *("pk", "seq", "outcome", "position", "done_at"),
        position.alias("ack_position"),
        first_delivered_at(ctx.history.facts).alias("first_delivered_at"),
        sf.lit("").alias("acks"),
    )
    return _reported(ctx.at(delivered, position), position, delivered=True)


def _between(ctx: Context) -> list[DataFrame]:
    """Return the deliveries of a record from between two places where it does not lie, if any."""
    deliveries = ctx.history.records.deliveries
    if deliveries is None:
        return []
    elsewhere = deliveries.filter("absent").select("pk", "seq", sf.col("position").alias("from"))
    columns = ("pk", "seq", "acks", "outcome", "ack_position", "done_at", "first_delivered_at")
    records = ctx.history.records.suspects.filter(sf.col("absent_from").isNotNull())
    joined = elsewhere.join(ctx.history.records.few(records.select(*columns)), ["pk", "seq"])
    return [_reported(ctx.at(joined, sf.col("from")), sf.col("position"), delivered=True)]


def _reports(ctx: Context, column: str, *, delivered: bool) -> DataFrame:
    """Return where records were reported that do not lie there, with the cuts of that partition."""
    position = sf.col(column)
    absent = sf.col("log_first").isNull()
    elsewhere = (position != sf.col("log_first")) & (position != sf.col("log_last"))
    # Of three copies the middle one is neither first nor last: a report of it is consistent.
    suspects = ctx.history.records.suspects
    claimed = suspects.filter(position.isNotNull() & (absent | elsewhere))
    return _reported(ctx.at(claimed, position), position, delivered=delivered)


def _reported(rows: DataFrame, position: Column, *, delivered: bool) -> DataFrame:
    return rows.select(
        position.alias("position"),
        "pk",
        "seq",
        sf.lit(col=False).alias("in_log"),
        position_rule(position, delivered=delivered).alias("rule"),
    )
