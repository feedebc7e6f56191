"""Looking for ground: a few places by chance, and the evidence around them, in two queries."""

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
from krt_scoring.selftest.baseline import STRIDE, Ground
from krt_scoring.selftest.mutation_points import REACH

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.allowances.truncations import Truncation
    from krt_scoring.anomalies.context import Context
    from krt_scoring.selftest.patch import Row, Sent

SITES = 64
"""Sites looked for: twice as many as there are corruptions, since not each can host each."""

TAILS = 16
"""Partitions whose last records are looked at."""

COMMITS = 64
"""Commits held of a group and partition, the highest."""

IN_FLIGHT = 16
"""Sends of which it is asked what else was under way: the quickest."""

DETAILS = ("previousOffset", "first", "last", "missing", "lastCommit")
"""Offsets a finding may name beside its own."""


def survey(
    ctx: Context, found: DataFrame | None, seed: int, doubts: frozenset[str], *, balanced: bool
) -> Ground:
    """Return the ground of a run.

    Args:
        ctx: its base tables.
        found: what was found in it, None where nothing was.
        seed: of the choice of places.
        doubts: codes of the reasons given by the judgement.
        balanced: whether the ledger identity holds.
    """
    anchors, ends = _anchors(ctx, seed)
    windows = _windows(ctx, anchors, ends, seed)
    quickest = sorted(anchors, key=lambda row: (row["took"], row["position"]))[:IN_FLIGHT]
    rows = _around(ctx, found, windows, quickest)
    facts = ctx.history.facts
    conditions = mutation_points.Conditions(facts, ctx.history.faults, _cuts(ctx))
    keys = {item.key: (item.producer, item.incarnation) for item in facts.incarnations.values()}
    told = mutation_points.Rows(
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
    union_all: dict[Sent, list[Sent]] = defaultdict(list)
    for row in rows["flight"]:
        whose = (*keys[row["of_pk"]], row["of_seq"])
        union_all[whose].append((row["producer"], row["producer_incarnation"], row["seq"]))
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
    return Ground(
        seed=seed,
        facts=facts,
        sites=mutation_points.build(windows, told, conditions),
        owned=tuple(_strided_interval(item) for item in ctx.history.ownership.intervals),
        causes={group: tuple(sorted(times)) for group, times in causes.items()},
        commits={spot: tuple(commits[:COMMITS]) for spot, commits in spots.items()},
        commits_cut=frozenset(spot for spot, rows in spots.items() if len(rows) > COMMITS),
        in_flight={sent: tuple(sorted(others)) for sent, others in union_all.items()},
        troubled=frozenset(troubled | consequences),
        lost_commits=frozenset(lost_commits(ctx.history.tables, facts)),
        states={
            spot: tuple((state.at, state.isr) for state in sequence)
            for spot, sequence in states(ctx.history.tables.timeline).items()
        },
        compared={
            (one.topic, one.partition): tuple(
                each.broker for each in one.compared if each.broker in one.fully_dumped
            )
            for one in ctx.history.replicas
        },
        replicas={position: tuple(rows) for position, rows in dumped.items()},
        doubts=doubts,
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
    every = max(1, attempted // (2 * SITES))
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
    anchors = [one.asDict() for row in rows for one in row["anchors"]]
    anchors.sort(key=lambda row: row["position"])
    return anchors, {row["tp"]: row["last"] for row in rows}


def _windows(
    ctx: Context, anchors: list[Row], ends: dict[int, int], seed: int
) -> tuple[mutation_points.Window, ...]:
    """Return ranges around the anchors that do not meet, those at the logs' ends first."""
    chance = random.Random(seed)  # noqa: S311 (it chooses examples, no secrets)
    wanted = [(ends[tp] - 2 * REACH, ends[tp]) for tp in sorted(ends)[:TAILS]]
    positions = [row["position"] for row in anchors]
    wanted += [
        (position - REACH, position + REACH)
        for position in chance.sample(positions, len(positions))
    ]
    found: list[mutation_points.Window] = []
    taken: set[int] = set()
    for low, high in wanted:
        topic, partition, end = _place(ctx, high)
        last = ends[high >> OFFSET_BITS]
        # At the start of a partition there is nothing below.
        first = max(low, (high >> OFFSET_BITS) << OFFSET_BITS)
        if taken & set(range(first - 1, high + 2)) or len(found) >= SITES:
            continue
        taken |= set(range(first, high + 1))
        found.append(
            mutation_points.Window(
                topic, partition, end - (high - first), end, last=first <= last <= high
            )
        )
    return tuple(found)


def _around(
    ctx: Context,
    found: DataFrame | None,
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
    if found is not None:
        parts["spot"] = found.select("grp", "topic", "partition").distinct()
        parts["dirty"] = _dirty(ctx, found).join(positions, "position").distinct()
    if any(one.compared for one in ctx.history.replicas):
        held = history.replica_log.withColumn("position", column)
        parts["replica"] = held.join(positions, "position").drop("position")
    told = [
        rows.select(sf.lit(kind).alias("kind"), sf.to_json(sf.struct(*rows.columns)).alias("row"))
        for kind, rows in parts.items()
    ]
    columns = {kind: rows.columns for kind, rows in parts.items()}
    result: dict[str, list[Row]] = {kind: [] for kind in (*parts, "spot", "dirty", "replica")}
    for row in union_all(told).collect():
        # JSON leaves nulls out.
        whole = dict.fromkeys(columns[row["kind"]]) | json.loads(row["row"])
        result[row["kind"]].append(whole)
    return result


def _flight(ctx: Context, quickest: list[Row]) -> DataFrame:
    """Sends acked while one of the given ones was under way, by that one."""
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
    """The highest commits of each group and partition, one more than are held."""
    order = Window.partitionBy("group", "topic", "partition").orderBy(
        sf.col("offset").desc(), "incarnation", "event_seq"
    )
    committed = ctx.history.tables.consumer_events.filter(sf.col("event") == "committed")
    ranked = committed.withColumn("rank", sf.row_number().over(order))
    return ranked.filter(sf.col("rank") <= COMMITS + 1)


def _dirty(ctx: Context, found: DataFrame) -> DataFrame:
    offsets = [sf.get_json_object("detail", f"$.{name}").cast("long") for name in DETAILS]
    tp = ctx.history.facts.positions.tp_column()
    each = found.select(tp.alias("tp"), sf.explode(sf.array("offset", *offsets)).alias("offset"))
    position = sf.shiftleft("tp", OFFSET_BITS).bitwiseOR(sf.col("offset"))
    return each.filter(sf.col("offset").isNotNull()).select(position.alias("position"))
