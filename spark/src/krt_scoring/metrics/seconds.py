"""What was sent, acknowledged and delivered in each second of a run, counted in one query.

Records are folded into (lane, second, bin) first and the bins of a second into its percentiles
next, both in Spark: what comes back is one row for each lane and second, however many records
there are. All of it is integers, so the order in which pieces are merged decides nothing.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from krt_contract.durations import MICROS
from krt_scoring.history.outcomes import UNDELIVERED
from krt_scoring.history.positions import PARTITION_BITS
from krt_scoring.history.record_columns import (
    ACKED,
    OUTCOME_CODES,
    UNDONE_ACK,
    delivered_at,
    has,
)
from krt_scoring.metrics.histogram import bin_column, upper_edge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, Row

    from krt_scoring.history.groups import Group
    from krt_scoring.history.history import History
    from krt_scoring.metrics.span import Span

MAX_STEPS = 86_400
"""Steps of a series at most: of a run that is longer than a day a step is more than a second."""

SENDS, WRITES = 0, 1
"""Lanes of sends that ended, and of their latency; each group has three lanes behind them."""

END_TO_END, ARRIVED, RECEIVED = 2, 3, 4
"""First group's lanes: latency of its records, records it can be given, records it was given."""

PER_GROUP = 3

_NAMES = {code: name for name, code in OUTCOME_CODES.items()}


@dataclass(frozen=True, slots=True)
class Moment:
    """Latencies of what was due within one step; µs."""

    count: int
    p50: int
    p99: int
    largest: int


@dataclass(frozen=True, slots=True)
class Seconds:
    """What happened in each step of a run. Steps are numbered from ``start`` on.

    Attributes:
        start: when the first step begins, UTC µs.
        step: length of a step, µs.
        count: number of steps.
        sends: (producer identity, outcome) → step → sends that ended in it.
        latencies: group, empty for writes → step → latencies of what was due in it.
        lag: group → step → records acknowledged and not yet delivered at its end.
    """

    start: int
    step: int
    count: int
    sends: Mapping[tuple[str, str], Mapping[int, int]] = field(default_factory=dict)
    latencies: Mapping[str, Mapping[int, Moment]] = field(default_factory=dict)
    lag: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def count(history: History, span: Span, *, latencies: bool = True) -> Seconds:
    """Count a run second by second.

    Args:
        history: the history of the run.
        span: when the run's operations were due.
        latencies: whether the evidence says when sends were due.
    """
    second = MICROS["s"]
    steps = -(-max(0, span.end - span.first) // second // MAX_STEPS)
    step = max(1, steps) * second
    start = span.first // second * second
    rows = _per_step(_events(history, latencies=latencies), start, step).collect()
    return _read(history, rows, start, step)


def _events(history: History, *, latencies: bool) -> DataFrame:
    """Return ``lane, at, pk, outcome, micros``: a row for each lane of a record that it is in."""
    groups = history.facts.groups
    lanes = [SENDS, *([WRITES] if latencies else [])]
    for group in groups:
        lanes += [_lane(group, ARRIVED), _lane(group, RECEIVED)]
        lanes += [_lane(group, END_TO_END)] if latencies else []
    rows = history.records.rows.where("outcome IS NOT NULL").select(
        *("pk", "tp", "outcome", "bits", "record_outcome", "scheduled_at", "done_at"),
        *[delivered_at(group) for group in groups],
        # Numbers, and a choice by number: see ``operations``.
        sf.explode(sf.array(*[sf.lit(lane) for lane in lanes])).alias("lane"),
    )
    lane = sf.col("lane")
    written = (sf.col("outcome") == ACKED) | has(UNDONE_ACK)
    at: Column = sf.when(lane == SENDS, sf.col("done_at")).when(
        (lane == WRITES) & written, sf.col("scheduled_at")
    )
    micros: Column = sf.when(lane == WRITES, sf.col("done_at") - sf.col("scheduled_at"))
    for group in groups:
        # A consumer may be handed a record before the producer hears of its ack.
        received = (sf.col("outcome") == ACKED) & sf.col(delivered_at(group)).isNotNull()
        given = sf.when(received, sf.greatest(sf.col(delivered_at(group)), sf.col("done_at")))
        at = (
            at.when((lane == _lane(group, END_TO_END)) & received, sf.col("scheduled_at"))
            .when(
                (lane == _lane(group, ARRIVED)) & (received | _owed(history, group)),
                sf.col("done_at"),
            )
            .when(lane == _lane(group, RECEIVED), given)
        )
        micros = micros.when(lane == _lane(group, END_TO_END), given - sf.col("scheduled_at"))
    return rows.select(
        "lane",
        at.alias("at"),
        sf.when(lane == SENDS, sf.col("pk")).alias("pk"),
        sf.when(lane == SENDS, sf.col("outcome")).alias("outcome"),
        micros.alias("micros"),
    ).where("at IS NOT NULL")


def _lane(group: Group, first: int) -> int:
    return first + PER_GROUP * group.index


def _owed(history: History, group: Group) -> Column:
    """Whether a record was never delivered although it is in the log of a topic of the group's."""
    topics = [n for n, name in enumerate(history.facts.positions.topics) if name in group.topics]
    missing = sf.col("record_outcome") == UNDELIVERED
    mine = sf.shiftright("tp", PARTITION_BITS).isin(*topics) if topics else sf.lit(col=False)
    return missing & sf.coalesce(mine, sf.lit(col=False))


def _per_step(events: DataFrame, start: int, step: int) -> DataFrame:
    """Return a row for each step of each lane, and of sends for each producer and outcome."""
    key = ("lane", "step")
    within = sf.col("at").between(start, start + MAX_STEPS * step - 1)
    binned = (
        events.where(within)
        .withColumn("step", sf.expr(f"(at - {start}L) div {step}L").cast("int"))
        .groupBy(*key, "pk", "outcome", bin_column(sf.col("micros")).alias("bin"))
        .agg(sf.count("*").alias("n"), sf.max("micros").alias("largest"))
    )
    everything = Window.partitionBy(*key)
    ranked = binned.withColumn(
        "rank", sf.sum("n").over(everything.orderBy(sf.col("bin").asc_nulls_first()))
    ).withColumn("total", sf.sum("n").over(everything))

    def percentile(percent: int) -> Column:
        # The smallest rank that covers the share, as ``Histogram.percentile`` counts it.
        covered = sf.col("rank") * 100 >= sf.col("total") * percent
        return sf.min(sf.when(covered, sf.col("bin"))).alias(f"p{percent}")

    return ranked.groupBy(*key, "pk", "outcome").agg(
        sf.sum("n").alias("n"),
        percentile(50),
        percentile(99),
        sf.max("largest").alias("largest"),
    )


def _read(history: History, rows: list[Row], start: int, step: int) -> Seconds:
    producers = {key: item.producer for key, item in history.facts.incarnations.items()}
    names = {_lane(group, 0): group.name for group in history.facts.groups}
    sends: dict[tuple[str, str], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    latencies: dict[str, dict[int, Moment]] = defaultdict(dict)
    changes: dict[str, dict[int, int]] = {name: defaultdict(int) for name in names.values()}
    for row in rows:
        lane, at, number = row["lane"], row["step"], row["n"]
        if lane == SENDS:
            sends[producers.get(row["pk"], ""), _NAMES[row["outcome"]]][at] += number
            continue
        kind = lane if lane == WRITES else END_TO_END + (lane - END_TO_END) % PER_GROUP
        group = "" if lane == WRITES else names[lane - kind]
        if kind in (WRITES, END_TO_END):
            edges = [min(upper_edge(row[name]), row["largest"]) for name in ("p50", "p99")]
            latencies[group][at] = Moment(number, edges[0], edges[1], row["largest"])
        else:
            changes[group][at] += number if kind == ARRIVED else -number
    steps = max((row["step"] for row in rows), default=-1) + 1
    return Seconds(
        start,
        step,
        steps,
        {key: dict(found) for key, found in sorted(sends.items())},
        dict(sorted(latencies.items())),
        {name: _running(found, steps) for name, found in sorted(changes.items())},
    )


def _running(changes: Mapping[int, int], steps: int) -> tuple[int, ...]:
    total, found = 0, []
    for at in range(steps):
        total += changes.get(at, 0)
        found.append(total)
    return tuple(found)
