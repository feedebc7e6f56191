"""misplaced-delivery: a record was handed out from a place where the settled log does not hold it.

A record that is in no log is vanished-read's, unless it is the log of its own partition that was
not read. An aborted record that was handed out from where it lies is aborted-read's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import DeliveryOutcome
from krt_scoring.allowances.losses import appended_by, committed_rule
from krt_scoring.anomalies.schema import finding
from krt_scoring.engine.dataframes import union_all
from krt_scoring.history import partition_bounds
from krt_scoring.history.identity import ours
from krt_scoring.history.positions import offset_of, partition_of, tp_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.anomalies.context import Context

NAME = "misplaced-delivery"


def possible(ctx: Context) -> bool:
    """Whether any record, or bytes of nobody, came from where the log may not hold them."""
    return ctx.history.records.totals["displaced"] > 0 or ctx.history.facts.stray_deliveries > 0


def find(ctx: Context) -> DataFrame:
    """Return one finding a delivery.

    Permitted where the record may have lain there until an election cut it off that permits the
    loss of committed records.
    """
    found = []
    if ctx.history.records.totals["displaced"]:
        found.append(_of_records(ctx))
    if ctx.history.facts.stray_deliveries:
        found.append(_of_nobody(ctx))
    return union_all(found)


def _of_records(ctx: Context) -> DataFrame:
    deliveries = ctx.history.records.deliveries
    if deliveries is None:
        raise LookupError("records were delivered from elsewhere, but nobody looked up from where")
    columns = (
        *("pk", "seq", "producer", "producer_incarnation", "outcome", "ack_position"),
        *("done_at", "first_delivered_at", "log_first"),
    )
    records = ctx.history.records.suspects.filter(
        sf.col("absent_from").isNotNull() & (sf.col("present") | (sf.col("log_rows") > 0))
    ).select(*columns)
    misplaced = deliveries.filter("misplaced").withColumnRenamed("position", "delivered_from")
    joined = misplaced.join(ctx.history.records.few(records), ["pk", "seq"])
    rows = ctx.at(joined, sf.col("delivered_from"))
    before = appended_by(sf.col("position"))
    lies = sf.col("log_first")
    detail = sf.struct(
        sf.col("delivered_at").alias("deliveredAt"),
        partition_of(tp_of(lies)).alias("logPartition"),
        offset_of(lies).alias("logOffset"),
    )
    return _finding(rows, before, sf.to_json(detail))


def _of_nobody(ctx: Context) -> DataFrame:
    """Return what carries no identity of the run and came from where the log has nothing."""
    facts, tables = ctx.history.facts, ctx.history.tables
    position = facts.positions.column()
    tp, offset = facts.positions.tp_column(), sf.col("offset")
    judged = partition_bounds.settled(tp, facts) & (offset >= partition_bounds.start_of(tp, facts))
    ok = sf.col("outcome") == DeliveryOutcome.OK.value
    strays = (
        tables.consume.filter(~ours(tables.run) & ok & judged)
        .drop("producer", "producer_incarnation", "seq")
        .withColumn("delivered_from", position)
    )
    in_log = tables.log.select(position.alias("delivered_from"))
    rows = ctx.at(strays.join(in_log, "delivered_from", "left_anti"), sf.col("delivered_from"))
    before = sf.col("delivered_at")
    return _finding(rows, before, sf.to_json(sf.struct(before.alias("deliveredAt"))))


def _finding(rows: DataFrame, before: Column, detail: Column) -> DataFrame:
    rule = committed_rule(sf.col("offset"), before)
    return finding(NAME, rows, rule=rule, grp="group", detail=detail)
