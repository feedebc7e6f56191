"""Small facts, collected once: what does not grow with the records.

Incarnations of producers, bounds of partitions, where each group starts: tens to thousands of
rows whatever the length of the run. Having them in the driver turns many joins into look-ups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome
from krt_scoring.errors import PlanError
from krt_scoring.history.positions import Places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from krt_contract.plan import Plan
    from krt_scoring.history.tables import History


MOVING = (ConsumerEvent.SEEK, ConsumerEvent.RESET)
"""Consumer events by which a member moves its position on a partition it keeps."""


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group.

    Attributes:
        index: its number in the base tables, 0 upwards by name.
        committed_only: whether its members read with read_committed.
        commits: the commit modes of its consumers.
        topics: what it subscribes.
    """

    index: int
    name: str
    committed_only: bool
    commits: frozenset[str]
    topics: frozenset[str]

    @property
    def transactional(self) -> bool:
        """Whether its members commit offsets in the transaction of what they made of the records.

        Then only deliveries of committed transactions count.
        """
        return "Transactional" in self.commits


@dataclass(frozen=True, slots=True)
class Close:
    """What an incarnation said of itself when it ended in order."""

    attempted: int
    acked: int
    failed: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A producer incarnation as its ledger, the log and the deliveries know it.

    Attributes:
        key: ``xxhash64(producer, producer_incarnation)``, its name in the base tables.
        rows: ledger rows, of which ``acked``, ``failed`` and ``unknown``.
        sent: highest seq in its ledger; -1 where there is none.
        known: highest seq in ledger, log or deliveries, of bytes as they were sent.
        highest: highest seq of damaged bytes too.
        closes: close records; more than one is an error of the evidence.
        close: the close record, None where the incarnation was killed.
    """

    key: int
    producer: str
    incarnation: str
    rows: int
    acked: int
    failed: int
    unknown: int
    sent: int
    known: int
    highest: int
    closes: int
    close: Close | None

    @property
    def attempted(self) -> int:
        """Sends attempted: as closed, else one more than the highest seq known."""
        return self.close.attempted if self.close else self.known + 1


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
            whose log was not read: there deliveries are all that shows what the log held.
        incarnations: by key; this and what follows is empty until the records are tallied
            (``derive.incarnations``).
        log_records, deliveries: rows of those tables.
        strays: log records without an identity of this run; stray_deliveries likewise.
    """

    run: Plan
    places: Places
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
            self.places.tp(topic.name, partition) not in self.bounds
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


def key() -> Column:
    """Return the key of a row's producer incarnation."""
    return sf.xxhash64("producer", "producer_incarnation")


def ours(run: Plan) -> Column:
    """Whether a log or consume row carries an identity of this run."""
    known = (sf.col("run_uid") == run.uid) & sf.col("seq").isNotNull()
    named = sf.col("producer").isNotNull() & sf.col("producer_incarnation").isNotNull()
    return sf.coalesce(known & named, sf.lit(col=False))


MAX_GROUPS = 16
"""As many consumers as a resource may have. A record keeps two bits for each group."""


def groups_of(run: Plan) -> tuple[Group, ...]:
    """Return the run's consumer groups, by name.

    Raises:
        PlanError: more groups than can be told apart.
    """
    found = []
    names = sorted({consumer.group for consumer in run.consumers})
    if len(names) > MAX_GROUPS:
        raise PlanError(f"{len(names)} groups; at most {MAX_GROUPS} can be scored at once")
    for index, name in enumerate(names):
        members = [consumer for consumer in run.consumers if consumer.group == name]
        found.append(
            Group(
                index=index,
                name=name,
                committed_only=any(item.isolation == "read_committed" for item in members),
                commits=frozenset(item.commit for item in members),
                topics=frozenset(topic for item in members for topic in item.topics),
            )
        )
    return tuple(found)


def collect(history: History) -> Facts:
    """Collect the small facts of a history but for those its records tally up to."""
    run = history.run
    places = Places.of(run)
    groups = groups_of(run)
    bounds = _bounds(history.log_end_offsets, places)
    return Facts(
        run=run,
        places=places,
        groups=groups,
        bounds=bounds,
        starts=_starts(history.consumer_events, places, groups),
        reached=_reached(history, places, groups, bounds),
    )


def _bounds(rows: DataFrame, places: Places) -> dict[int, Bounds]:
    found = {}
    for row in rows.orderBy("taken_at").collect():
        if places.known(row["topic"]):
            tp = places.tp(row["topic"], row["partition"])
            found[tp] = Bounds(row["log_start"], row["high_watermark"], row["settled"])
    return found


def _starts(
    events: DataFrame, places: Places, groups: tuple[Group, ...]
) -> dict[tuple[int, int], Start]:
    first = sf.min(
        sf.when(
            sf.col("event") == ConsumerEvent.ASSIGNED,
            sf.struct("at", "consumer", "incarnation", "event_seq", "offset"),
        )
    )
    rows = (
        events.filter(
            sf.col("event").isin(ConsumerEvent.ASSIGNED, ConsumerEvent.DRAINED, *MOVING)
            & sf.col("topic").isNotNull()
        )
        .groupBy("group", "topic", "partition")
        .agg(
            first.alias("first"),
            sf.max((sf.col("event") == ConsumerEvent.DRAINED).cast("int")).alias("drained"),
            sf.max(sf.col("event").isin(*MOVING).cast("int")).alias("moved"),
        )
        .collect()
    )
    index = {group.name: group.index for group in groups}
    found = {}
    for row in rows:
        if row["first"] is None or row["group"] not in index or not places.known(row["topic"]):
            continue
        place = index[row["group"]], places.tp(row["topic"], row["partition"])
        found[place] = Start(row["first"]["offset"], bool(row["drained"]), bool(row["moved"]))
    return found


def _reached(
    history: History, places: Places, groups: tuple[Group, ...], bounds: Mapping[int, Bounds]
) -> dict[tuple[int, int], int]:
    unread = [
        (topic.name, partition)
        for topic in history.run.topics
        for partition in range(topic.partitions)
        if places.tp(topic.name, partition) not in bounds
    ]
    if not unread:
        return {}
    rows = (
        history.consume.filter(
            (sf.col("outcome") == DeliveryOutcome.OK)
            & sf.col("topic").isin(*{topic for topic, _ in unread})
        )
        .groupBy("group", "topic", "partition")
        .agg(sf.max("offset").alias("offset"))
        .collect()
    )
    index = {group.name: group.index for group in groups}
    wanted = set(unread)
    return {
        (index[row["group"]], places.tp(row["topic"], row["partition"])): row["offset"]
        for row in rows
        if row["group"] in index and (row["topic"], row["partition"]) in wanted
    }
