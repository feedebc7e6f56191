"""duplicate-delivery: one offset delivered ok again to a group.

Within the uncommitted window every mode permits it: the offset was not below the group's last
known commit when the newer owner was assigned, and the older one owned it no more. The older one
may be the later to hand it out: a process that stood still goes on with what it had fetched. Each
delivery is compared with the last one before it, so that who repeats itself has no window.
A group that commits within transactions has no such window: what was handed out in a transaction
that was aborted is not a delivery, and two that were committed moved the offset twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from krt_contract.outcomes import DeliveryOutcome
from krt_scoring.allowances import consequences
from krt_scoring.allowances.offsets import OFFSETS_LOST, resumed
from krt_scoring.anomalies.schema import finding
from krt_scoring.engine.dataframes import union_all
from krt_scoring.history import intervals
from krt_scoring.history.identity import ours
from krt_scoring.history.partition_bounds import start_of
from krt_scoring.history.positions import offset_of, tp_of
from krt_scoring.history.record_columns import delivery_count
from krt_scoring.history.records import with_offsets
from krt_scoring.inputs.timeline import CLOCK_SLACK

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.anomalies.context import Context

NAME = "duplicate-delivery"
RULE = "uncommitted-window"
WITHIN, OUTSIDE = "withinUncommittedWindow", "outsideWindow"

OWNERSHIP = (
    *("interval", "begin", "end", "last_at", "incarnation"),
    *("committed", "lapse", "tolerated"),
)
"""What is asked of the ownership of the delivery before."""


def possible(ctx: Context) -> bool:
    """Whether any record was delivered more than once, or from elsewhere, or bytes of nobody.

    Of a log that was not read, two records may have been delivered from one offset.
    """
    facts = ctx.history.facts
    return ctx.history.records.totals["oddly"] > 0 or facts.stray_deliveries > 1 or facts.unread


def find(ctx: Context) -> DataFrame:
    """Return one finding a delivery beyond the first of its offset and group."""
    rows = intervals.owned_by(_deliveries(ctx), ctx.history.ownership.table)
    activity = sf.broadcast(ctx.history.ownership.activity_table)
    rows = rows.join(activity, "interval", "left")
    order = Window.partitionBy("group_index", "position").orderBy(
        "delivered_at", "incarnation", "event_seq"
    )
    # The last one before: the window of a member that died is not that of who repeats itself.
    before = {f"prev_{name}": sf.lag(name).over(order) for name in (*OWNERSHIP, "event_seq")}
    again = rows.withColumns({"nth": sf.row_number().over(order), **before}).filter("nth > 1")
    belated = sf.col("begin") < sf.col("prev_begin")

    def older(name: str) -> Column:
        return sf.when(belated, sf.col(name)).otherwise(sf.col(f"prev_{name}"))

    def newer(name: str) -> Column:
        return sf.when(belated, sf.col(f"prev_{name}")).otherwise(sf.col(name))

    limit = newer("begin") + CLOCK_SLACK
    # The owner before either reported the end, died, never used it again, or stood still
    # for longer than its session and soon learnt of it.
    ended = (
        (older("end") <= limit)
        | (older("last_at") <= limit)
        | ((older("lapse") <= limit) & (older("last_at") <= older("tolerated")))
    )
    lost = newer("interval").isin(*sorted(resumed(ctx.history)))
    moved = sf.col("interval") != sf.col("prev_interval")
    uncommitted = offset_of(sf.col("position")) >= sf.coalesce(newer("committed"), sf.lit(0))
    window = ~sf.col("group_index").isin(*ctx.history.facts.transactional)
    within = moved & ended & uncommitted & window
    shown = consequences.with_spans(
        with_offsets(again, ctx.history.facts), ctx.allowances.consequences
    )
    last_before = consequences.Earlier(sf.col("prev_incarnation"), sf.col("prev_event_seq"))
    after = sf.coalesce(
        consequences.rule(sf.col("offset"), sf.col("offset"), sf.col("delivered_at"), last_before),
        sf.when(moved & ended & lost, OFFSETS_LOST),
    )
    groups = sf.array(*[sf.lit(group.name) for group in ctx.history.facts.groups])
    detail = sf.to_json(
        sf.struct(
            sf.col("prev_incarnation").alias("previousIncarnation"),
            sf.col("committed").alias("lastCommit"),
            sf.col("delivered_at").alias("deliveredAt"),
        )
    )
    return finding(
        NAME,
        shown.withColumn("grp", sf.get(groups, sf.col("group_index"))),
        rule=sf.when(within, RULE).otherwise(after),
        tag=sf.when(within, WITHIN).otherwise(OUTSIDE),
        detail=detail,
    )


def _deliveries(ctx: Context) -> DataFrame:
    """Return every ok delivery at a place of a record that was delivered more than once.

    And at every place that bytes of nobody came from, or that is of a log that was not read.
    """
    odd: Column = (sf.col("got_first") != sf.col("got_last")) | sf.coalesce(
        sf.col("got_first") != sf.col("log_first"), sf.col("got_first").isNotNull()
    )
    for group in ctx.history.facts.groups:
        odd = odd | (sf.col(delivery_count(group)) > 1)
    suspects = ctx.suspects.filter(odd)
    columns = ("got_first", "got_last", "log_first", "log_last")
    known = [suspects.select(sf.col(name).alias("position")) for name in columns]
    if ctx.history.facts.stray_deliveries:
        strays = ctx.history.tables.consume.filter(~ours(ctx.history.tables.run))
        known.append(strays.select(ctx.history.facts.positions.column().alias("position")))
    if ctx.history.facts.unread:
        position = ctx.history.facts.positions.column().alias("position")
        start = start_of(tp_of(sf.col("position")), ctx.history.facts)
        known.append(ctx.history.tables.consume.select(position).filter(start.isNull()))
    affected = union_all(known).filter(sf.col("position").isNotNull()).distinct()
    rows = ctx.history.tables.consume.filter(
        sf.col("outcome") == DeliveryOutcome.OK.value
    ).withColumn("position", ctx.history.facts.positions.column())
    return (
        intervals.with_lane(rows, ctx.history.facts)
        .join(ctx.history.records.few(affected), "position", "left_semi")
        .drop("group")
    )
