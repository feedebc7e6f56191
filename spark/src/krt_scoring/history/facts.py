"""Small facts, collected once: what does not grow with the records.

Incarnations of producers, bounds of partitions, where each group starts: tens to thousands of
rows whatever the length of the run. Having them in the driver turns many joins into look-ups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome
from krt_scoring.history.groups import groups_of
from krt_scoring.history.positions import Positions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, Row

    from krt_contract.plan import Plan
    from krt_scoring.history.groups import Group
    from krt_scoring.history.identity import Incarnation
    from krt_scoring.history.tables import Tables


MOVING = (ConsumerEvent.SEEK, ConsumerEvent.RESET)
"""Consumer events by which a member moves its position on a partition it keeps."""

LANE = ("group", "topic", "partition")
ORDER = ("at", "consumer", "incarnation", "event_seq")
"""What puts the events of a lane in order, equal times of two members always in the same."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The settled bounds of a partition's log."""

    log_start: int
    high_watermark: int
    settled: bool


@dataclass(frozen=True, slots=True)
class Start:
    """Where a group starts on a partition, and whether it read it to the end.

    Attributes:
        offset: offset of its first ``assigned``; None where that was not known.
        moved: whether a member moved its position by a seek or a reset.
    """

    offset: int | None
    drained: bool
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything small that the rules look up.

    Attributes:
        groups: by index.
        bounds: topic-partition id → bounds.
        starts: (group index, topic-partition id) → start.
        reached: (group index, topic-partition id) → highest offset delivered ok, of partitions
            whose log was not read: there deliveries are all that shows what was in the log.
        incarnations: by key; this and what follows is empty until the records are tallied
            (``history.incarnations``).
        log_records, deliveries: rows of those tables.
        strays: log records without an identity of this run; stray_deliveries likewise.
    """

    run: Plan
    positions: Positions
    groups: tuple[Group, ...]
    bounds: dict[int, Bounds]
    starts: dict[tuple[int, int], Start]
    reached: dict[tuple[int, int], int]
    incarnations: dict[int, Incarnation] = field(default_factory=dict)
    log_records: int = 0
    deliveries: int = 0
    strays: int = 0
    stray_deliveries: int = 0

    @property
    def unread(self) -> bool:
        """Whether there is a partition whose log was not read."""
        return any(
            self.positions.tp(topic.name, partition) not in self.bounds
            for topic in self.run.topics
            for partition in range(topic.partitions)
        )

    @property
    def transactional(self) -> tuple[int, ...]:
        """Indices of the groups that commit within transactions."""
        return tuple(group.index for group in self.groups if group.transactional)

    def never_sent(self) -> Column:
        """Whether no ledger knows a record, and its number is above all its producer attempted.

        Then it was never sent: its bytes are not those of a send.
        """
        never: Column = sf.lit(col=False)
        for key in sorted(self.incarnations):
            item = self.incarnations[key]
            if item.highest >= item.attempted:
                never = never | ((sf.col("pk") == key) & (sf.col("seq") >= item.attempted))
        return never & (sf.col("rows") == 0)

    def group_index(self, column: str = "group") -> Column:
        """Return the index of a row's group; null for a group the plan does not know."""
        index: Column = sf.lit(None).cast("int")
        for group in self.groups:
            index = sf.when(sf.col(column) == group.name, sf.lit(group.index)).otherwise(index)
        return index


def collect(tables: Tables) -> Facts:
    """Collect the small facts of a history but for those its records tally up to."""
    run = tables.run
    positions = Positions.of(run)
    groups = groups_of(run)
    bounds = _bounds(tables.log_end_offsets, positions)
    return Facts(
        run=run,
        positions=positions,
        groups=groups,
        bounds=bounds,
        starts=_starts(tables.consumer_events, positions, groups),
        reached=_reached(tables, positions, groups, bounds),
    )


def _bounds(rows: DataFrame, positions: Positions) -> dict[int, Bounds]:
    found = {}
    for row in sorted(rows.collect(), key=lambda row: row["taken_at"]):
        if positions.known(row["topic"]):
            tp = positions.tp(row["topic"], row["partition"])
            found[tp] = Bounds(row["log_start"], row["high_watermark"], row["settled"])
    return found


def _starts(
    events: DataFrame, positions: Positions, groups: tuple[Group, ...]
) -> dict[tuple[int, int], Start]:
    rows = (
        events.filter(
            sf.col("event").isin(ConsumerEvent.ASSIGNED, ConsumerEvent.DRAINED, *MOVING)
            & sf.col("topic").isNotNull()
        )
        .select(*LANE, *ORDER, "event", "offset")
        .collect()
    )
    index = {group.name: group.index for group in groups}
    by_lane: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        if row["group"] in index and positions.known(row["topic"]):
            lane = index[row["group"]], positions.tp(row["topic"], row["partition"])
            by_lane.setdefault(lane, []).append(row)
    found = {}
    for lane, its in by_lane.items():
        assigned = [row for row in its if row["event"] == ConsumerEvent.ASSIGNED]
        if assigned:
            first = min(assigned, key=lambda row: tuple(row[name] for name in ORDER))
            events_of = {row["event"] for row in its}
            drained = ConsumerEvent.DRAINED in events_of
            found[lane] = Start(first["offset"], drained, not events_of.isdisjoint(MOVING))
    return found


def _reached(
    tables: Tables, positions: Positions, groups: tuple[Group, ...], bounds: Mapping[int, Bounds]
) -> dict[tuple[int, int], int]:
    unread = [
        (topic.name, partition)
        for topic in tables.run.topics
        for partition in range(topic.partitions)
        if positions.tp(topic.name, partition) not in bounds
    ]
    if not unread:
        return {}
    rows = (
        tables.consume.filter(
            (sf.col("outcome") == DeliveryOutcome.OK.value)
            & sf.col("topic").isin(*{topic for topic, _ in unread})
        )
        .groupBy("group", "topic", "partition")
        .agg(sf.max("offset").alias("offset"))
        .collect()
    )
    index = {group.name: group.index for group in groups}
    partitions = set(unread)
    return {
        (index[row["group"]], positions.tp(row["topic"], row["partition"])): row["offset"]
        for row in rows
        if row["group"] in index and (row["topic"], row["partition"]) in partitions
    }
