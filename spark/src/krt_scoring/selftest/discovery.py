"""Finds mutation points: a few places by chance, and the evidence around them, in two queries."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from krt_contract.clients import Acks
from krt_scoring.allowances import truncations
from krt_scoring.allowances.offsets import lost_commits
from krt_scoring.engine import local_rows
from krt_scoring.engine.dataframes import union_all
from krt_scoring.history.elections import elections, states
from krt_scoring.history.intervals import FOREVER
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
from krt_scoring.selftest import mutation_points
from krt_scoring.selftest.baseline import STRIDE, Baseline
from krt_scoring.selftest.mutation_points import REACH

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.allowances.truncations import Truncation
    from krt_scoring.anomalies.context import Context
    from krt_scoring.selftest.patch import Row, Sent

MAX_POINTS = 64
"""Mutation points looked for: twice as many as there are corruptions, since few can host every
corruption."""

TAILS = 16
"""Partitions whose last records are looked at."""

COMMITS = 64
"""Commits kept of a group and partition, the highest."""

IN_FLIGHT = 16
"""Sends of which it is asked what else was under way: the quickest."""

DETAILS = ("previousOffset", "first", "last", "missing", "lastCommit")
"""Offsets a finding may name beside its own."""


def discover(
    ctx: Context,
    findings: DataFrame | None,
    seed: int,
    reason_codes: frozenset[str],
    *,
    balanced: bool,
) -> Baseline:
    """Return what the corruptions of a run are made from.

    Args:
        ctx: its history and what its configuration allows.
        findings: of every rule, None where nothing was found.
        seed: of the choice of places.
        reason_codes: codes of the reasons that the detection gave.
        balanced: whether the ledger balances.
    """
    anchors, ends = _anchors(ctx, seed)
    windows = _windows(ctx, anchors, ends, seed)
    quickest = sorted(anchors, key=lambda row: (row["took"], row["position"]))[:IN_FLIGHT]
    rows = _around(ctx, findings, windows, quickest)
    facts = ctx.history.facts
    conditions = mutation_points.Conditions(facts, ctx.history.faults, _cuts(ctx))
    keys = {item.key: (item.producer, item.incarnation) for item in facts.incarnations.values()}
    rows_read = mutation_points.Rows(
        log=rows["log"],
        consume=[_strided(row) for row in rows["consume"]],
        produce=rows["produce"],
        marks=[_strided(row) for row in rows["mark"]],
        quiet=frozenset((*keys[row["pk"]], row["seq"]) for row in rows["quiet"]),
        dirty=frozenset(_place(ctx, row["position"]) for row in rows["dirty"]),
    )
    spots: dict[tuple[str, str, int], list[Row]] = defaultdict(list)
    for row in sorted(rows["commit"], key=lambda row: row["rank"]):
        spots[row["group"], row["topic"], row["partition"]].append(_strided(row))
    concurrent: dict[Sent, list[Sent]] = defaultdict(list)
    for row in rows["flight"]:
        whose = (*keys[row["of_pk"]], row["of_seq"])
        concurrent[whose].append((row["producer"], row["producer_incarnation"], row["seq"]))
    dumped: dict[tuple[str, int, int], list[Row]] = defaultdict(list)
    for row in rows["replica"]:
        dumped[row["topic"], row["partition"], row["offset"]].append(row)
    causes: dict[int, list[int]] = defaultdict(list)
    for member in ctx.history.ownership.members:
        causes[member.group] += [at for at in (member.joined, member.left) if at is not None]
    consequences = {
        (facts.groups[group].name, *facts.positions.name(tp))
        for group, tp in ctx.allowances.consequences
    }
    troubled = {(row.get("grp"), row.get("topic"), row.get("partition")) for row in rows["spot"]}
    return Baseline(
        seed=seed,
        facts=facts,
        points=mutation_points.build(windows, rows_read, conditions),
        owned=tuple(_strided_interval(item) for item in ctx.history.ownership.intervals),
        causes={group: tuple(sorted(times)) for group, times in causes.items()},
        commits={spot: tuple(commits[:COMMITS]) for spot, commits in spots.items()},
        commits_cut=frozenset(spot for spot, rows in spots.items() if len(rows) > COMMITS),
        in_flight={sent: tuple(sorted(others)) for sent, others in concurrent.items()},
        troubled=frozenset(troubled | consequences),
        lost_commits=frozenset(lost_commits(ctx.history.tables, facts)),
        states={
            spot: tuple((state.at, state.isr) for state in sequence)
            for spot, sequence in states(ctx.history.tables.timeline).items()
        },
        compared={
            (item.topic, item.partition): tuple(
                replica.broker for replica in item.compared if replica.broker in item.fully_dumped
            )
            for item in ctx.history.replicas
        },
        replicas={position: tuple(rows) for position, rows in dumped.items()},
        reason_codes=reason_codes,
        balanced=balanced,
    )


def _strided(row: Row) -> Row:
    poll = row.get("poll")
    return row | {
        "event_seq": row["event_seq"] * STRIDE,
        "poll": None if poll is None else poll * STRIDE,
    }


def _strided_interval(item: Any) -> Any:
    last = item.last_seq if item.last_seq >= FOREVER else item.last_seq * STRIDE
    return replace(item, first_seq=item.first_seq * STRIDE, last_seq=last)


def _place(ctx: Context, position: int) -> tuple[str, int, int]:
    return *ctx.history.facts.positions.name(position >> OFFSET_BITS), position & (
        (1 << OFFSET_BITS) - 1
    )


def _cuts(ctx: Context) -> tuple[Truncation, ...]:
    """The cuts elections may have made, where they could permit the loss of anything."""
    if ctx.allowances.truncations:
        return ctx.allowances.truncations
    run = ctx.history.facts.run
    eager = {producer.topic for producer in run.writers if producer.acks is not Acks.ALL}
    known = [
        item
        for item in elections(ctx.history.tables.timeline)
        if ctx.history.facts.positions.known(item.topic)
    ]
    if any(
        item.topic in eager or truncations.rule_of(item, ctx.history.facts) is not None
        for item in known
    ):
        return truncations.derive(ctx.history)
    return ()


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


def _anchors(ctx: Context, seed: int) -> tuple[list[Row], dict[int, int]]:
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


def _windows(
    ctx: Context, anchors: list[Row], ends: dict[int, int], seed: int
) -> tuple[mutation_points.Window, ...]:
    """Return ranges around the anchors that do not meet, those at the logs' ends first."""
    chance = random.Random(seed)  # noqa: S311 (it chooses examples, no secrets)
    ranges = [(ends[tp] - 2 * REACH, ends[tp]) for tp in sorted(ends)[:TAILS]]
    positions = [row["position"] for row in anchors]
    ranges += [
        (position - REACH, position + REACH)
        for position in chance.sample(positions, len(positions))
    ]
    windows: list[mutation_points.Window] = []
    taken: set[int] = set()
    for low, high in ranges:
        topic, partition, end = _place(ctx, high)
        last = ends[high >> OFFSET_BITS]
        # At the start of a partition there is nothing below.
        first = max(low, (high >> OFFSET_BITS) << OFFSET_BITS)
        if taken & set(range(first - 1, high + 2)) or len(windows) >= MAX_POINTS:
            continue
        taken |= set(range(first, high + 1))
        windows.append(
            mutation_points.Window(
                topic, partition, end - (high - first), end, last=first <= last <= high
            )
        )
    return tuple(windows)


def _around(
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
    acked = ctx.history.tables.produce.filter(sf.col("outcome") == "acked").withColumn(
        "tp", ctx.history.facts.positions.tp_column()
    )
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
    committed = ctx.history.tables.consumer_events.filter(sf.col("event") == "committed")
    ranked = committed.withColumn("rank", sf.row_number().over(order))
    return ranked.filter(sf.col("rank") <= COMMITS + 1)


def _dirty(ctx: Context, findings: DataFrame) -> DataFrame:
    offsets = [sf.get_json_object("detail", f"$.{name}").cast("long") for name in DETAILS]
    tp = ctx.history.facts.positions.tp_column()
    each = findings.select(tp.alias("tp"), sf.explode(sf.array("offset", *offsets)).alias("offset"))
    position = sf.shiftleft("tp", OFFSET_BITS).bitwiseOR(sf.col("offset"))
    return each.filter(sf.col("offset").isNotNull()).select(position.alias("position"))
