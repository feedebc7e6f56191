"""Finds mutation points: a few places by chance, and the evidence around them."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from krt_contract.clients import Acks
from krt_scoring.allowances import truncations
from krt_scoring.allowances.offsets import losses
from krt_scoring.anomalies import accepted_below_min_isr
from krt_scoring.history.elections import elections, states
from krt_scoring.history.positions import OFFSET_BITS
from krt_scoring.inputs.timeline import FOREVER
from krt_scoring.selftest import mutation_points
from krt_scoring.selftest.baseline import STRIDE, Baseline
from krt_scoring.selftest.mutation_points import REACH
from krt_scoring.selftest.queries import COMMITS, IN_FLIGHT, MAX_POINTS, find_anchors, read_around

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.allowances.truncations import Truncation
    from krt_scoring.anomalies.context import Context
    from krt_scoring.selftest.patch import Row, Sent


TAILS = 16
"""Partitions whose last records are looked at."""


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
    anchors, ends = find_anchors(ctx, seed)
    windows = _windows(ctx, anchors, ends, seed)
    quickest = sorted(anchors, key=lambda row: (row["took"], row["position"]))[:IN_FLIGHT]
    rows = read_around(ctx, findings, windows, quickest)
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
        causes={
            group.index: tuple(sorted(ctx.history.ownership.changes(group.index)))
            for group in facts.groups
        },
        commits={spot: tuple(commits[:COMMITS]) for spot, commits in spots.items()},
        commits_cut=frozenset(spot for spot, rows in spots.items() if len(rows) > COMMITS),
        in_flight={sent: tuple(sorted(others)) for sent, others in concurrent.items()},
        troubled=frozenset(troubled | consequences),
        lost_commits=frozenset(losses(ctx.history.tables, facts)),
        states={
            spot: tuple((state.at, state.isr) for state in sequence)
            for spot, sequence in states(ctx.history.tables.timeline).items()
        },
        doubts=accepted_below_min_isr.doubts(ctx),
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
