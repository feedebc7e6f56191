"""Small facts, collected once: what does not grow with the records.

Incarnations of producers, bounds of partitions, where each group starts: tens to thousands of
rows whatever the length of the run. Having them in the driver turns many joins into look-ups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.derive.places import Places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, Row

    from krt_scoring.history import History
    from krt_scoring.run_info import RunInfo


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
        highest: highest seq in ledger, log or deliveries; -1 where there is none.
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
    highest: int
    closes: int
    close: Close | None

    @property
    def attempted(self) -> int:
        """Sends attempted: as closed, else one more than the highest seq known."""
        return self.close.attempted if self.close else self.highest + 1


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
    """

    offset: int | None
    drained: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything small that the rules look up.

    Attributes:
        groups: by index.
        incarnations: by key.
        bounds: topic-partition id → bounds.
        starts: (group index, topic-partition id) → start.
        reached: (group index, topic-partition id) → highest offset delivered ok, of partitions
            whose log was not read: there deliveries are all that shows what the log held.
        log_records, deliveries: rows of those tables.
        strays: log records without an identity of this run; stray_deliveries likewise.
    """

    run: RunInfo
    places: Places
    groups: tuple[Group, ...]
    incarnations: dict[int, Incarnation]
    bounds: dict[int, Bounds]
    starts: dict[tuple[int, int], Start]
    reached: dict[tuple[int, int], int]
    log_records: int
    deliveries: int
    strays: int
    stray_deliveries: int

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

    def group_index(self, column: str = "group") -> Column:
        """Return the index of a row's group; null for a group the plan does not know."""
        index: Column = sf.lit(None).cast("int")
        for group in self.groups:
            index = sf.when(sf.col(column) == group.name, sf.lit(group.index)).otherwise(index)
        return index


def key() -> Column:
    """Return the key of a row's producer incarnation."""
    return sf.xxhash64("producer", "producer_incarnation")


def ours(run: RunInfo) -> Column:
    """Whether a log or consume row carries an identity of this run."""
    known = (sf.col("run_uid") == run.uid) & sf.col("seq").isNotNull()
    named = sf.col("producer").isNotNull() & sf.col("producer_incarnation").isNotNull()
    return sf.coalesce(known & named, sf.lit(col=False))


def groups_of(run: RunInfo) -> tuple[Group, ...]:
    """Return the run's consumer groups, by name."""
    found = []
    for index, name in enumerate(sorted({consumer.group for consumer in run.consumers})):
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
    """Collect the small facts of a history.

    Raises:
        ValueError: two incarnations share a key (chance below 1e-12 for a thousand of them).
    """
    run = history.run
    places = Places.of(run)
    groups = groups_of(run)
    totals = _identities(history).collect()
    incarnations: dict[int, Incarnation] = {}
    for row in totals:
        if row["producer"] is None:
            continue
        if row["pk"] in incarnations:
            raise ValueError(f"{row['producer']}/{row['producer_incarnation']}: key taken")
        incarnations[row["pk"]] = _incarnation(row)
    nameless = [row for row in totals if row["producer"] is None]
    bounds = _bounds(history.log_bounds, places)
    return Facts(
        run=run,
        places=places,
        groups=groups,
        incarnations=incarnations,
        bounds=bounds,
        starts=_starts(history.consumer_events, places, groups),
        reached=_reached(history, places, groups, bounds),
        log_records=sum(row["log_rows"] for row in totals),
        deliveries=sum(row["deliveries"] for row in totals),
        strays=sum(row["log_rows"] for row in nameless),
        stray_deliveries=sum(row["deliveries"] for row in nameless),
    )


_CLOSED = ("attempted", "acked", "failed", "unknown")


def _identities(history: History) -> DataFrame:
    # Sums and maxima of longs only: they keep the aggregation on Spark's hash path.
    names = ("producer", "producer_incarnation")
    mine = ours(history.run)

    def part(rows: DataFrame, kind: str) -> DataFrame:
        checked = kind in ("log", "consume")
        identity = [sf.when(mine, sf.col(name)).alias(name) if checked else name for name in names]
        closing = kind == "close"
        seq = sf.lit(None) if closing else sf.when(mine, sf.col("seq")) if checked else "seq"
        outcome = sf.col("outcome") if kind == "produce" else sf.lit(None)
        return rows.select(
            *identity,
            (sf.col(seq) if isinstance(seq, str) else seq).cast("long").alias("seq"),
            sf.lit(kind).alias("kind"),
            outcome.cast("string").alias("oc"),
            *[
                (sf.col(name) if closing else sf.lit(None)).cast("long").alias(f"close_{name}")
                for name in _CLOSED
            ],
        )

    rows = (
        part(history.produce, "produce")
        .unionAll(part(history.log, "log"))
        .unionAll(part(history.consume, "consume"))
        .unionAll(part(history.produce_close, "close"))
    )

    def count(column: str, value: str) -> Column:
        return sf.sum(sf.when(sf.col(column) == value, 1).otherwise(0).cast("long"))

    return (
        rows.groupBy(*names)
        .agg(
            count("kind", "produce").alias("rows"),
            count("oc", "acked").alias("acked"),
            count("oc", "failed").alias("failed"),
            count("oc", "unknown").alias("unknown"),
            count("kind", "log").alias("log_rows"),
            count("kind", "consume").alias("deliveries"),
            count("kind", "close").alias("closes"),
            sf.coalesce(sf.max("seq"), sf.lit(-1).cast("long")).alias("highest"),
            *[sf.max(f"close_{name}").alias(f"close_{name}") for name in _CLOSED],
        )
        .withColumn("pk", key())
    )


def _incarnation(row: Row) -> Incarnation:
    close = Close(*[row[f"close_{name}"] for name in _CLOSED]) if row["closes"] else None
    return Incarnation(
        key=row["pk"],
        producer=row["producer"],
        incarnation=row["producer_incarnation"],
        rows=row["rows"],
        acked=row["acked"],
        failed=row["failed"],
        unknown=row["unknown"],
        highest=row["highest"],
        closes=row["closes"],
        close=close,
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
            sf.col("event") == "assigned",
            sf.struct("at", "consumer", "incarnation", "n", "offset"),
        )
    )
    rows = (
        events.filter(sf.col("event").isin("assigned", "drained") & sf.col("topic").isNotNull())
        .groupBy("group", "topic", "partition")
        .agg(
            first.alias("first"),
            sf.max((sf.col("event") == "drained").cast("int")).alias("drained"),
        )
        .collect()
    )
    index = {group.name: group.index for group in groups}
    found = {}
    for row in rows:
        if row["first"] is None or row["group"] not in index or not places.known(row["topic"]):
            continue
        place = index[row["group"]], places.tp(row["topic"], row["partition"])
        found[place] = Start(row["first"]["offset"], bool(row["drained"]))
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
            (sf.col("outcome") == "ok") & sf.col("topic").isin(*{topic for topic, _ in unread})
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
