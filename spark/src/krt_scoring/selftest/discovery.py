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
from krt_contract.outcomes import ConsumerEvent, SendOutcome
from krt_scoring.allowances import truncations
from krt_scoring.allowances.offsets import lost_commits
from krt_scoring.engine import local_rows
from krt_scoring.history.elections import elections, states
from krt_scoring.history.offset_jumps import EXCUSING
from krt_scoring.history.ownership import FOREVER
from krt_scoring.history.positions import OFFSET_BITS
from krt_scoring.history.records import (
    ACKED,
    BAD_DELIVERED,
    BAD_IN_LOG,
    FAILED,
    LOG_ABORTED,
    has,
)
from krt_scoring.history.union import together
from krt_scoring.selftest import mutation_points
from krt_scoring.selftest.baseline import STRIDE, Ground
from krt_scoring.selftest.mutation_points import REACH

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.allowances.truncations import Truncation
    from krt_scoring.history.base import Base
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
    base: Base, found: DataFrame | None, seed: int, doubts: frozenset[str], *, balanced: bool
) -> Ground:
    """Return the ground of a run.

    Args:
        base: its base tables.
        found: what was found in it, None where nothing was.
        seed: of the choice of places.
        doubts: codes of the reasons given by the judgement.
        balanced: whether the ledger identity holds.
    """
    anchors, ends = _anchors(base, seed)
    windows = _windows(base, anchors, ends, seed)
    quickest = sorted(anchors, key=lambda row: (row["took"], row["place"]))[:IN_FLIGHT]
    rows = _around(base, found, windows, quickest)
    facts = base.facts
    conditions = mutation_points.Conditions(facts, base.faults, _cuts(base))
    keys = {item.key: (item.producer, item.incarnation) for item in facts.incarnations.values()}
    told = mutation_points.Rows(
        log=rows["log"],
        consume=[_strided(row) for row in rows["consume"]],
        produce=rows["produce"],
        marks=[_strided(row) for row in rows["mark"]],
        quiet=frozenset((*keys[row["pk"]], row["seq"]) for row in rows["quiet"]),
        dirty=frozenset(_place(base, row["place"]) for row in rows["dirty"]),
    )
    spots: dict[tuple[str, str, int], list[Row]] = defaultdict(list)
    for row in sorted(rows["commit"], key=lambda row: row["rank"]):
        spots[row["group"], row["topic"], row["partition"]].append(_strided(row))
    together: dict[Sent, list[Sent]] = defaultdict(list)
    for row in rows["flight"]:
        whose = (*keys[row["of_pk"]], row["of_seq"])
        together[whose].append((row["producer"], row["producer_incarnation"], row["seq"]))
    dumped: dict[tuple[str, int, int], list[Row]] = defaultdict(list)
    for row in rows["replica"]:
        dumped[row["topic"], row["partition"], row["offset"]].append(row)
    causes: dict[int, list[int]] = defaultdict(list)
    for member in base.reading.members:
        causes[member.group] += [at for at in (member.came, member.left) if at is not None]
    consequences = {(facts.groups[group].name, *facts.places.name(tp)) for group, tp in base.spans}
    troubled = {(row.get("grp"), row.get("topic"), row.get("partition")) for row in rows["spot"]}
    return Ground(
        seed=seed,
        facts=facts,
        sites=mutation_points.build(windows, told, conditions),
        owned=tuple(_strided_interval(item) for item in base.reading.owned),
        causes={group: tuple(sorted(times)) for group, times in causes.items()},
        commits={spot: tuple(commits[:COMMITS]) for spot, commits in spots.items()},
        commits_cut=frozenset(spot for spot, rows in spots.items() if len(rows) > COMMITS),
        in_flight={sent: tuple(sorted(others)) for sent, others in together.items()},
        troubled=frozenset(troubled | consequences),
        lost_commits=frozenset(lost_commits(base.history, facts)),
        states={
            spot: tuple((state.at, state.isr) for state in sequence)
            for spot, sequence in states(base.history).items()
        },
        compared={
            (one.topic, one.partition): tuple(
                each.broker for each in one.compared if each.broker in one.whole
            )
            for one in base.replicas
        },
        replicas={place: tuple(rows) for place, rows in dumped.items()},
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
    last = item.last_n if item.last_n >= FOREVER else item.last_n * STRIDE
    return replace(item, first_n=item.first_n * STRIDE, last_n=last)


def _place(base: Base, place: int) -> tuple[str, int, int]:
    return *base.facts.places.name(place >> OFFSET_BITS), place & ((1 << OFFSET_BITS) - 1)


def _cuts(base: Base) -> tuple[Truncation, ...]:
    """The cuts elections may have made, where they could permit the loss of anything."""
    if base.truncations:
        return base.truncations
    run = base.facts.run
    eager = {producer.topic for producer in run.writers if producer.acks is not Acks.ALL}
    known = [item for item in elections(base.history) if base.facts.places.known(item.topic)]
    if any(
        item.topic in eager or truncations.rule_of(item, base.facts) is not None for item in known
    ):
        return truncations.derive(base.history, base.facts, base.records, base.names)
    return ()


def _alone() -> Column:
    """Whether a record is in order, or lies in the log as aborted and nowhere else."""
    here = sf.col("whole.log_first")
    aborted = (
        (sf.col("outcome") == FAILED)
        & has(LOG_ABORTED)
        & ~has(BAD_IN_LOG | BAD_DELIVERED)
        & (sf.col("whole.rows") == 1)
        & (sf.coalesce("whole.got_first", here) == here)
        & (sf.coalesce("whole.got_last", here) == here)
    )
    clean = (sf.col("odd") == 0) & (sf.col("outcome") == ACKED)
    return sf.col("once") & (clean | aborted)


def _anchors(base: Base, seed: int) -> tuple[list[Row], dict[int, int]]:
    """Return records chosen by chance, and partition → the last place of its log."""
    attempted = sum(item.attempted for item in base.facts.incarnations.values())
    every = max(1, attempted // (2 * SITES))
    chosen = sf.pmod(sf.xxhash64("pk", "seq", sf.lit(seed)), sf.lit(every)) == 0
    named = sf.struct(
        "place",
        (sf.col("done_at") - sf.col("sent_at")).alias("took"),
        *("pk", "seq", "sent_at", "done_at"),
    )
    rows = (
        base.records.filter(sf.col("once") | (sf.col("whole.log_rows") > 0))
        .withColumn("log_last", sf.coalesce("whole.log_last", "place"))
        .groupBy(sf.shiftright("log_last", OFFSET_BITS).alias("tp"))
        .agg(
            sf.max("log_last").alias("last"),
            sf.collect_list(sf.when(chosen & _alone(), named)).alias("anchors"),
        )
        .collect()
    )
    anchors = [one.asDict() for row in rows for one in row["anchors"]]
    anchors.sort(key=lambda row: row["place"])
    return anchors, {row["tp"]: row["last"] for row in rows}


def _windows(
    base: Base, anchors: list[Row], ends: dict[int, int], seed: int
) -> tuple[mutation_points.Window, ...]:
    """Return ranges around the anchors that do not meet, those at the logs' ends first."""
    chance = random.Random(seed)  # noqa: S311 (it chooses examples, no secrets)
    wanted = [(ends[tp] - 2 * REACH, ends[tp]) for tp in sorted(ends)[:TAILS]]
    places = [row["place"] for row in anchors]
    wanted += [(place - REACH, place + REACH) for place in chance.sample(places, len(places))]
    found: list[mutation_points.Window] = []
    taken: set[int] = set()
    for low, high in wanted:
        topic, partition, end = _place(base, high)
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
    base: Base,
    found: DataFrame | None,
    windows: tuple[mutation_points.Window, ...],
    quickest: list[Row],
) -> dict[str, list[Row]]:
    """Return the rows around the windows by kind, in one query."""
    history, facts = base.history, base.facts
    column = facts.places.column()
    spots = [
        (facts.places.tp(window.topic, window.partition) << OFFSET_BITS) + offset
        for window in windows
        for offset in range(window.low, window.high + 1)
    ]
    places = sf.broadcast(local_rows.frame(base.spark, [(spot,) for spot in spots], "place long"))
    log = history.log.withColumn("place", column).join(places, "place")
    identity = ["producer", "producer_incarnation", "seq"]
    whose = sf.broadcast(log.select(*identity).distinct())
    quiet = base.records.filter(_alone()).select("place", "pk", "seq")
    parts = {
        "log": log.drop("place"),
        "consume": history.consume.withColumn("place", column).join(places, "place").drop("place"),
        "produce": history.produce.join(whose, identity, "left_semi"),
        "quiet": quiet.join(places, "place"),
        "flight": _flight(base, quickest),
        "mark": history.consumer_events.filter(
            sf.col("event").isin(*EXCUSING) & sf.col("partition").isNotNull()
        ),
        "commit": _commits(base),
    }
    if found is not None:
        parts["spot"] = found.select("grp", "topic", "partition").distinct()
        parts["dirty"] = _dirty(base, found).join(places, "place").distinct()
    if any(one.compared for one in base.replicas):
        held = history.replica_log.withColumn("place", column)
        parts["replica"] = held.join(places, "place").drop("place")
    told = [
        rows.select(sf.lit(kind).alias("kind"), sf.to_json(sf.struct(*rows.columns)).alias("row"))
        for kind, rows in parts.items()
    ]
    columns = {kind: rows.columns for kind, rows in parts.items()}
    result: dict[str, list[Row]] = {kind: [] for kind in (*parts, "spot", "dirty", "replica")}
    for row in together(told).collect():
        # JSON leaves nulls out.
        whole = dict.fromkeys(columns[row["kind"]]) | json.loads(row["row"])
        result[row["kind"]].append(whole)
    return result


def _flight(base: Base, quickest: list[Row]) -> DataFrame:
    """Sends acked while one of the given ones was under way, by that one."""
    rows = [
        (row["place"] >> OFFSET_BITS, row["pk"], row["seq"], row["sent_at"], row["done_at"])
        for row in quickest
    ]
    asked = local_rows.frame(
        base.spark, rows, "tp long, of_pk long, of_seq long, begin long, end long"
    )
    acked = base.history.produce.filter(sf.col("outcome") == SendOutcome.ACKED).withColumn(
        "tp", base.facts.places.tp_column()
    )
    during = (sf.col("sent_at") >= sf.col("begin")) & (sf.col("done_at") <= sf.col("end"))
    return (
        acked.join(sf.broadcast(asked), "tp")
        .filter(during)
        .select("of_pk", "of_seq", "producer", "producer_incarnation", "seq")
    )


def _commits(base: Base) -> DataFrame:
    """The highest commits of each group and partition, one more than are held."""
    order = Window.partitionBy("group", "topic", "partition").orderBy(
        sf.col("offset").desc(), "incarnation", "event_seq"
    )
    committed = base.history.consumer_events.filter(sf.col("event") == ConsumerEvent.COMMITTED)
    ranked = committed.withColumn("rank", sf.row_number().over(order))
    return ranked.filter(sf.col("rank") <= COMMITS + 1)


def _dirty(base: Base, found: DataFrame) -> DataFrame:
    offsets = [sf.get_json_object("detail", f"$.{name}").cast("long") for name in DETAILS]
    tp = base.facts.places.tp_column()
    each = found.select(tp.alias("tp"), sf.explode(sf.array("offset", *offsets)).alias("offset"))
    place = sf.shiftleft("tp", OFFSET_BITS).bitwiseOR(sf.col("offset"))
    return each.filter(sf.col("offset").isNotNull()).select(place.alias("place"))
