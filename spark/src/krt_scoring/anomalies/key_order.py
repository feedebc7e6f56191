"""key-order: first deliveries of two records of a key, against their order in the log.

Two records have an order where they lay in one log. Of those in the settled log it is that of
their offsets. A record that is gone, or lies elsewhere than it was delivered, lay in one log with
others that are gone, and with those below the first offset any election can have cut; what took
its place did not, whatever the offsets say. Its key is that of what was sent, not of what lies
there now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from krt_contract.outcomes import DeliveryOutcome
from krt_scoring.allowances import consequences
from krt_scoring.anomalies.schema import finding
from krt_scoring.engine import local_rows
from krt_scoring.history import intervals, rewinds
from krt_scoring.history.identity import key, ours
from krt_scoring.history.positions import offset_of, tp_of
from krt_scoring.history.records import with_offsets

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.anomalies.context import Context
    from krt_scoring.history.offset_jumps import Lane
    from krt_scoring.history.rewinds import Span

NAME = "key-order"

SETTLED, EARLIER = 0, 1
"""The log as it is now, and what it held that is gone."""

MOMENT = ("interval", "event_seq", "consumer", "incarnation")
"""When a group got something: the order of ownerships, and an incarnation's own."""


def doubtful(ctx: Context) -> set[Lane]:
    """Return where first deliveries of a group from a partition can be out of order.

    A member that goes from record to record delivers in order by itself: it must have gone back,
    over a record, or been moved. Between two members the order breaks only where the later one
    began below where the earlier one had. Of deliveries outside any ownership nothing is known.
    A log that was not read has no order.
    """
    lanes = {*ctx.history.reading.back, *ctx.history.reading.skipped}
    lanes |= {lane for lane, start in ctx.history.facts.starts.items() if start.moved}
    lanes |= ctx.history.ownership.unowned
    highest: dict[Lane, int] = {}
    for item in ctx.history.ownership.intervals:
        lane = (item.group, item.tp)
        if item.start is None or item.start < highest.get(lane, item.start):
            lanes.add(lane)
        else:
            highest[lane] = item.start
    return {(group, tp) for group, tp in lanes if tp in ctx.history.facts.bounds}


def possible(ctx: Context) -> bool:
    """Whether any first deliveries can be out of order."""
    return bool(doubtful(ctx))


def may_stray(ctx: Context) -> bool:
    """Whether any record may lie elsewhere than where it was delivered, or nowhere."""
    totals = ctx.history.records.totals
    return totals["vanished"] + totals["misplaced"] > 0


def find(ctx: Context) -> DataFrame:
    """Return one finding an adjacent inversion, ordered by (ownership, n), not by clocks.

    An election permits what was delivered after it, as of any other consequence, unless the earlier
    of the two was delivered after the member's reset already.
    """
    lanes = doubtful(ctx)
    spans = [span for span in rewinds.spans(ctx.history) if span[:2] in lanes]
    strays = may_stray(ctx)
    first = _in_logs(_with_strays(ctx, spans), ctx) if strays else _as_they_lie(ctx, spans)
    order = Window.partitionBy("group_index", "tp", "key", "log").orderBy(*MOMENT)
    stray = sf.col("stray") | sf.lag("stray").over(order)
    inverted = (
        first.select("*", "moment.*")
        .withColumns(
            {
                "previous": sf.lag("position").over(order),
                "prev_incarnation": sf.lag("incarnation").over(order),
                "prev_event_seq": sf.lag("event_seq").over(order),
                "either": stray,
            }
        )
        .filter(
            (sf.col("position") < sf.col("previous"))
            & ((sf.col("log") == SETTLED) | sf.col("either"))
        )
    )
    shown = consequences.with_spans(
        with_offsets(inverted, ctx.history.facts), ctx.allowances.consequences
    )
    names = sf.array(*[sf.lit(group.name) for group in ctx.history.facts.groups])
    before = offset_of(sf.col("previous"))
    earlier = consequences.Earlier(sf.col("prev_incarnation"), sf.col("prev_event_seq"))
    return finding(
        NAME,
        shown.withColumn("grp", sf.get(names, sf.col("group_index"))),
        rule=consequences.rule(sf.col("offset"), before, sf.col("delivered_at"), earlier),
        detail=sf.to_json(sf.struct("key", before.alias("previousOffset"))),
    )


def _as_they_lie(ctx: Context, spans: list[Span]) -> DataFrame:
    """Return the first deliveries of a history whose records all lie where they were delivered."""
    rows = _delivered(ctx, spans).join(_in_log(ctx, spans), "position")
    return _first(rows.withColumn("stray", sf.lit(col=False)), "position", "key").withColumn(
        "log", sf.lit(SETTLED)
    )


def _with_strays(ctx: Context, spans: list[Span]) -> DataFrame:
    """Return the first deliveries; ``stray`` tells those of a record that does not lie there."""
    rows = _delivered(ctx, spans).join(_in_log(ctx, spans), "position", "left")
    # What was delivered without an identity is taken for what lies there.
    stray = sf.col("pk").isNotNull() & ~sf.coalesce(
        (sf.col("pk") == sf.col("log_pk")) & (sf.col("seq") == sf.col("log_seq")),
        sf.lit(col=False),
    )
    suspects = ctx.suspects.select("pk", "seq")
    sent = (
        ctx.history.tables.produce.select(key().alias("pk"), "seq", sf.col("key").alias("sent_key"))
        .join(ctx.history.records.few(suspects), ["pk", "seq"])
        .groupBy("pk", "seq")
        .agg(sf.min("sent_key").alias("sent_key"))
    )
    deliveries = (
        rows.withColumn("stray", stray)
        .join(ctx.history.records.few(sent), ["pk", "seq"], "left")
        .withColumn("key", sf.when(sf.col("stray"), sf.col("sent_key")).otherwise(sf.col("key")))
        .withColumn("record", sf.when(sf.col("stray"), sf.struct("pk", "seq")))
    )
    return _first(deliveries, "position", "key", "record")


def _in_logs(first: DataFrame, ctx: Context) -> DataFrame:
    """Return first deliveries once for each log that their record lay in."""
    cuts: dict[int, int] = {}
    for item in ctx.allowances.truncations:
        cuts[item.tp] = min(item.offset, cuts.get(item.tp, item.offset))
    lowest = local_rows.frame(ctx.spark, sorted(cuts.items()), "tp long, cut long")
    both = sf.coalesce(offset_of(sf.col("position")) < sf.col("cut"), sf.lit(col=True))
    logs = (
        sf.when(sf.col("stray"), sf.array(sf.lit(EARLIER)))
        .when(both, sf.array(sf.lit(SETTLED), sf.lit(EARLIER)))
        .otherwise(sf.array(sf.lit(SETTLED)))
    )
    return first.join(sf.broadcast(lowest), "tp", "left").withColumn("log", sf.explode(logs))


def _delivered(ctx: Context, spans: list[Span]) -> DataFrame:
    """Return the ok deliveries within some ranges, with place, identity and ownership."""
    rows = ctx.history.tables.consume.filter(
        sf.col("outcome") == DeliveryOutcome.OK.value
    ).withColumn("position", ctx.history.facts.positions.column())
    columns = ("incarnation", "consumer", "event_seq", "delivered_at", "position", "pk", "seq")
    same = (sf.col("group_index") == sf.col("of")) & (sf.col("tp") == sf.col("on"))
    near = _near(intervals.with_lane(rows, ctx.history.facts), ctx, spans, same)
    known = near.withColumn("pk", sf.when(ours(ctx.history.tables.run), key()))
    owned = intervals.owned_by(
        known.select("group_index", "tp", *columns), ctx.history.ownership.table
    )
    return owned.select("group_index", "tp", "interval", *columns)


def _in_log(ctx: Context, spans: list[Span]) -> DataFrame:
    """Return what the settled log holds at each place within some ranges."""
    rows = ctx.history.tables.log.withColumn("position", ctx.history.facts.positions.column())
    near = _near(rows, ctx, spans, tp_of(sf.col("position")) == sf.col("on"))
    return near.select(
        *("position", "key"),
        sf.when(ours(ctx.history.tables.run), key()).alias("log_pk"),
        sf.col("seq").alias("log_seq"),
    )


def _near(rows: DataFrame, ctx: Context, spans: list[Span], same: Column) -> DataFrame:
    """Return rows whose place lies in a range; ``same`` whether it may be one of theirs."""
    ranges = local_rows.frame(ctx.spark, spans, "of int, on long, low long, high long")
    within = (sf.col("position") >= sf.col("low")) & (sf.col("position") <= sf.col("high"))
    return rows.join(sf.broadcast(ranges), same & within, "left_semi")


def _first(rows: DataFrame, *names: str) -> DataFrame:
    """Return for each group when it first got each record of a key."""
    moment = sf.struct(*MOMENT, "delivered_at")
    return (
        rows.filter(sf.col("key").isNotNull())
        .groupBy("group_index", "tp", "stray", *names)
        .agg(sf.min(moment).alias("moment"))
    )
