"""The two queries of the self-test: a few records by chance, and the evidence around them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from krt_contract.outcomes import ConsumerEvent, SendOutcome
from krt_scoring.engine import local_rows
from krt_scoring.engine.dataframes import union_all
from krt_scoring.history.offset_jumps import EXCUSING
from krt_scoring.history.positions import OFFSET_BITS
from krt_scoring.history.record_columns import (
    ACKED,
    BAD_DELIVERED,
    BAD_IN_LOG,
    FAILED,
    LOG_ABORTED,
    has,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.anomalies.context import Context
    from krt_scoring.selftest import mutation_points
    from krt_scoring.selftest.patch import Row

MAX_POINTS = 64
"""Mutation points looked for: twice as many as there are corruptions, since few can host every
corruption."""

COMMITS = 64
"""Commits kept of a group and partition, the highest."""

IN_FLIGHT = 16
"""Sends of which it is asked what else was under way: the quickest."""

DETAILS = ("previousOffset", "first", "last", "missing", "lastCommit")
"""Offsets a finding may name beside its own."""


def _alone() -> Column:
    """Whether a record is in order, or lies in the log as aborted and nowhere else."""
    here = sf.col("every.log_first")
    aborted = (
        (sf.col("outcome") == FAILED)
        & has(LOG_ABORTED)
        & ~has(BAD_IN_LOG | BAD_DELIVERED)
        & (sf.col("every.rows") == 1)
        & (sf.coalesce("every.got_first", here) == here)
        & (sf.coalesce("every.got_last", here) == here)
    )
    clean = (sf.col("anomalous") == 0) & (sf.col("outcome") == ACKED)
    return sf.col("once") & (clean | aborted)


def find_anchors(ctx: Context, seed: int) -> tuple[list[Row], dict[int, int]]:
    """Return records chosen by chance, and partition → the last place of its log."""
    attempted = sum(item.attempted for item in ctx.history.facts.incarnations.values())
    every = max(1, attempted // (2 * MAX_POINTS))
    chosen = sf.pmod(sf.xxhash64("pk", "seq", sf.lit(seed)), sf.lit(every)) == 0
    named = sf.struct(
        "position",
        (sf.col("done_at") - sf.col("sent_at")).alias("took"),
        *("pk", "seq", "sent_at", "done_at"),
    )
    rows = (
        ctx.history.records.rows.filter(sf.col("once") | (sf.col("every.log_rows") > 0))
        .withColumn("log_last", sf.coalesce("every.log_last", "position"))
        .groupBy(sf.shiftright("log_last", OFFSET_BITS).alias("tp"))
        .agg(
            sf.max("log_last").alias("last"),
            sf.collect_list(sf.when(chosen & _alone(), named)).alias("anchors"),
        )
        .collect()
    )
    anchors = [anchor.asDict() for row in rows for anchor in row["anchors"]]
    anchors.sort(key=lambda row: row["position"])
    return anchors, {row["tp"]: row["last"] for row in rows}


def read_around(
    ctx: Context,
    findings: DataFrame | None,
    windows: tuple[mutation_points.Window, ...],
    quickest: list[Row],
) -> dict[str, list[Row]]:
    """Return the rows around the windows by kind, in one query."""
    history, facts = ctx.history.tables, ctx.history.facts
    column = facts.positions.column()
    spots = [
        (facts.positions.tp(window.topic, window.partition) << OFFSET_BITS) + offset
        for window in windows
        for offset in range(window.low, window.high + 1)
    ]
    positions = sf.broadcast(
        local_rows.frame(ctx.spark, [(spot,) for spot in spots], "position long")
    )
    log = history.log.withColumn("position", column).join(positions, "position")
    identity = ["producer", "producer_incarnation", "seq"]
    whose = sf.broadcast(log.select(*identity).distinct())
    quiet = ctx.history.records.rows.filter(_alone()).select("position", "pk", "seq")
    parts = {
        "log": log.drop("position"),
        "consume": history.consume.withColumn("position", column)
        .join(positions, "position")
        .drop("position"),
        "produce": history.produce.join(whose, identity, "left_semi"),
        "quiet": quiet.join(positions, "position"),
        "flight": _flight(ctx, quickest),
        "mark": history.consumer_events.filter(
            sf.col("event").isin(*EXCUSING) & sf.col("partition").isNotNull()
        ),
        "commit": _commits(ctx),
    }
    if findings is not None:
        parts["spot"] = findings.select("grp", "topic", "partition").distinct()
        parts["dirty"] = _dirty(ctx, findings).join(positions, "position").distinct()
    if any(item.compared for item in ctx.history.replicas):
        replica_rows = history.replica_log.withColumn("position", column)
        parts["replica"] = replica_rows.join(positions, "position").drop("position")
    parts_as_json = [
        rows.select(sf.lit(kind).alias("kind"), sf.to_json(sf.struct(*rows.columns)).alias("row"))
        for kind, rows in parts.items()
    ]
    columns = {kind: rows.columns for kind, rows in parts.items()}
    result: dict[str, list[Row]] = {kind: [] for kind in (*parts, "spot", "dirty", "replica")}
    for row in union_all(parts_as_json).collect():
        # JSON leaves nulls out.
        full_row = dict.fromkeys(columns[row["kind"]]) | json.loads(row["row"])
        result[row["kind"]].append(full_row)
    return result


def _flight(ctx: Context, quickest: list[Row]) -> DataFrame:
    """Sends acked while a given send was under way, with that send."""
    rows = [
        (row["position"] >> OFFSET_BITS, row["pk"], row["seq"], row["sent_at"], row["done_at"])
        for row in quickest
    ]
    asked = local_rows.frame(
        ctx.spark, rows, "tp long, of_pk long, of_seq long, begin long, end long"
    )
    acked = ctx.history.tables.produce.filter(
        sf.col("outcome") == SendOutcome.ACKED.value
    ).withColumn("tp", ctx.history.facts.positions.tp_column())
    during = (sf.col("sent_at") >= sf.col("begin")) & (sf.col("done_at") <= sf.col("end"))
    return (
        acked.join(sf.broadcast(asked), "tp")
        .filter(during)
        .select("of_pk", "of_seq", "producer", "producer_incarnation", "seq")
    )


def _commits(ctx: Context) -> DataFrame:
    """The highest commits of each group and partition, one more than are kept."""
    order = Window.partitionBy("group", "topic", "partition").orderBy(
        sf.col("offset").desc(), "incarnation", "event_seq"
    )
    committed = ctx.history.tables.consumer_events.filter(
        sf.col("event") == ConsumerEvent.COMMITTED.value
    )
    ranked = committed.withColumn("rank", sf.row_number().over(order))
    return ranked.filter(sf.col("rank") <= COMMITS + 1)


def _dirty(ctx: Context, findings: DataFrame) -> DataFrame:
    offsets = [sf.get_json_object("detail", f"$.{name}").cast("long") for name in DETAILS]
    tp = ctx.history.facts.positions.tp_column()
    each = findings.select(tp.alias("tp"), sf.explode(sf.array("offset", *offsets)).alias("offset"))
    position = sf.shiftleft("tp", OFFSET_BITS).bitwiseOR(sf.col("offset"))
    return each.filter(sf.col("offset").isNotNull()).select(position.alias("position"))
