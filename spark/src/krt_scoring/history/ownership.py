"""Who owned which partition from when to when, from the consumers' own events.

As many rows as there were assignments, so that they are held in the driver. An interval is
known by its incarnation and a range of ``n``, the incarnation's own order; times are for
comparing members with each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome
from krt_contract.timeline import EventName, Source
from krt_scoring.engine import local_rows
from krt_scoring.history import freezes
from krt_scoring.history.records import undone

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import History

FOREVER = (1 << 62) - 1

_LANE = {"group_index": "int", "tp": "long", "incarnation": "string"}
"""What an ownership is of; numbers of one value and two types would be told apart by their hash."""

ENDING = (
    ConsumerEvent.ASSIGNED,
    ConsumerEvent.REVOKED,
    ConsumerEvent.LOST,
    ConsumerEvent.CLOSED,
)
"""Events that end the interval of their partition before them."""

LEAVING = (ConsumerEvent.LOST, ConsumerEvent.CLOSED)
"""Events by which a member leaves its group. Of the member as a whole they end all it owned; an
assignment of nothing does not, since a cooperative member keeps what it was not told to give up."""


@dataclass(frozen=True, slots=True)
class Interval:
    """One ownership of one partition.

    Attributes:
        number: its place in the order (group, topic-partition, begin).
        first_n, last_n: the incarnation's events within, last exclusive.
        begin, end: in UTC µs; end is FOREVER where nothing says that it ended.
        start: offset it began at, None where not known.
        committed: the group's last known commit before it began, None where there was none.
        lapse: when the group had given the member up because it stood still; FOREVER where it
            did not, or not for long enough.
        tolerated: until when it may go on after that, not knowing.
    """

    number: int
    group: int
    tp: int
    consumer: str
    incarnation: str
    first_n: int
    last_n: int
    begin: int
    end: int
    start: int | None
    generation: int | None
    committed: int | None = None
    lapse: int = FOREVER
    tolerated: int = FOREVER


_SCHEMA = StructType(
    [
        StructField("interval", IntegerType()),
        StructField("group_index", IntegerType()),
        StructField("tp", LongType()),
        StructField("incarnation", StringType()),
        StructField("first_n", LongType()),
        StructField("last_n", LongType()),
        StructField("begin", LongType()),
        StructField("end", LongType()),
        StructField("committed", LongType()),
        StructField("lapse", LongType()),
        StructField("tolerated", LongType()),
    ]
)


@dataclass(frozen=True, slots=True)
class Member:
    """A consumer incarnation in a group: when it first owned, and when it left (µs or None)."""

    group: int
    incarnation: str
    came: int
    left: int | None


@dataclass(frozen=True, slots=True)
class Extent:
    """What was done on a partition in one ownership.

    Attributes:
        interval: its number; None of what members did that nothing says they owned.
        last_at: when anything was last handed out or committed, UTC µs.
        low, high: lowest and highest place delivered ok; None where none was.
    """

    interval: int | None
    group: int
    tp: int
    last_at: int
    low: int | None
    high: int | None

    def order(self) -> tuple[int, int, int]:
        """Order by group and partition, then of ownerships; what is outside any comes first."""
        return self.group, self.tp, -1 if self.interval is None else self.interval


def collect(history: History, facts: Facts) -> tuple[tuple[Interval, ...], tuple[Member, ...]]:
    """Return every ownership of the run, in order of group, partition and begin; the members."""
    events = history.consumer_events.filter(sf.col("event").isin(*ENDING)).select(
        facts.group_index().alias("grp"),
        facts.places.tp_column().alias("tp"),
        sf.col("topic").isNull().alias("whole"),
        *("consumer", "incarnation", "event_seq", "at", "event", "offset", "generation"),
    )
    deaths = deaths_of(history)
    found: list[Interval] = []
    by_incarnation: dict[tuple[int, str], list[Row]] = {}
    for row in events.collect():
        if row["grp"] is not None:
            by_incarnation.setdefault((row["grp"], row["incarnation"]), []).append(row)
    for (group, incarnation), rows in by_incarnation.items():
        death = deaths.get(incarnation, FOREVER)
        found += _of_incarnation(group, sorted(rows, key=lambda row: row["event_seq"]), death)
    members = [
        _member(group, incarnation, rows, deaths)
        for (group, incarnation), rows in sorted(by_incarnation.items())
    ]
    found.sort(key=lambda item: (item.group, item.tp, item.begin, item.incarnation, item.first_n))
    owned = tuple(replace(item, number=number) for number, item in enumerate(found))
    owned = freezes.lapsed(owned, freezes.of(history), facts)
    return with_commits(history, facts, owned), tuple(members)


def _member(group: int, incarnation: str, rows: list[Row], deaths: dict[str, int]) -> Member:
    leaves = [row["at"] for row in rows if row["event"] in LEAVING]
    if incarnation in deaths:
        leaves.append(deaths[incarnation])
    return Member(
        group=group,
        incarnation=incarnation,
        came=min(row["at"] for row in rows),
        left=min(leaves, default=None),
    )


def _of_incarnation(group: int, rows: list[Row], death: int) -> list[Interval]:
    found = []
    for position, row in enumerate(rows):
        if row["event"] != ConsumerEvent.ASSIGNED or row["tp"] is None:
            continue
        end = next((item for item in rows[position + 1 :] if _ends(item, row["tp"])), None)
        found.append(
            Interval(
                number=0,
                group=group,
                tp=row["tp"],
                consumer=row["consumer"],
                incarnation=row["incarnation"],
                first_n=row["event_seq"],
                last_n=end["event_seq"] if end else FOREVER,
                begin=row["at"],
                end=min(end["at"] if end else FOREVER, death),
                start=row["offset"],
                generation=row["generation"],
            )
        )
    return found


def _ends(event: Row, tp: int) -> bool:
    if event["whole"]:
        return event["event"] in LEAVING
    return bool(event["tp"] == tp)


def deaths_of(history: History) -> dict[str, int]:
    """Return pod uid → when its containers had certainly ended, in UTC µs."""
    found: dict[str, int] = {}
    for event in history.timeline:
        if event.source == Source.POD and event.event in (EventName.EXITED, EventName.DELETED):
            uid = str(event.detail.get("uid", ""))
            found[uid] = min(found.get(uid, FOREVER), event.at)
    return found


def table(spark: SparkSession, owned: tuple[Interval, ...]) -> DataFrame:
    """Return the intervals as a DataFrame."""
    rows = [
        (
            item.number,
            item.group,
            item.tp,
            item.incarnation,
            item.first_n,
            item.last_n,
            item.begin,
            item.end,
            item.committed,
            item.lapse,
            item.tolerated,
        )
        for item in owned
    ]
    return local_rows.frame(spark, rows, _SCHEMA)


def owned_by(rows: DataFrame, owned: DataFrame) -> DataFrame:
    """Return rows with ``group_index, tp, incarnation, n`` with the interval they fall into."""
    # One number to look up, where a text and two numbers would be compared for each row.
    lane = sf.xxhash64(*[sf.col(name).cast(kind) for name, kind in _LANE.items()])
    kept = [name for name in owned.columns if name not in _LANE]
    side = sf.broadcast(owned.select(lane.alias("_of"), *kept))
    here = (sf.col("event_seq") >= sf.col("first_n")) & (sf.col("event_seq") < sf.col("last_n"))
    return (
        rows.withColumn("_lane", lane)
        .join(side, (sf.col("_lane") == sf.col("_of")) & here, "left")
        .select(*rows.columns, *kept)
    )


def located(rows: DataFrame, facts: Facts) -> DataFrame:
    """Return consume or event rows with ``group_index`` and ``tp``."""
    return rows.withColumns(
        {"group_index": facts.group_index(), "tp": facts.places.tp_column()}
    ).filter(sf.col("tp").isNotNull() & sf.col("group_index").isNotNull())


def extents(history: History, facts: Facts, owned: DataFrame) -> tuple[Extent, ...]:
    """Return what was done in each ownership, and outside any; one pass over the deliveries."""

    def part(rows: DataFrame, at: Column, place: Column) -> DataFrame:
        return located(rows, facts).select(
            *("group_index", "tp", "incarnation", "event_seq"),
            at.alias("last_at"),
            place.alias("place"),
        )

    committed = history.consumer_events.filter(sf.col("event") == ConsumerEvent.COMMITTED)
    # A fenced member may go on handing out what its transaction never commits.
    valid = history.consume.filter(~undone(facts))
    given = sf.when(sf.col("outcome") == DeliveryOutcome.OK, facts.places.column())
    nowhere = sf.lit(None).cast("long")
    acts = part(valid, sf.col("delivered_at"), given).unionAll(
        part(committed, sf.col("at"), nowhere)
    )
    done = (
        owned_by(acts, owned)
        .groupBy("interval", "group_index", "tp")
        .agg(
            sf.max("last_at").alias("last_at"),
            sf.min("place").alias("low"),
            sf.max("place").alias("high"),
        )
        .collect()
    )
    found = [
        Extent(
            row["interval"], row["group_index"], row["tp"], row["last_at"], row["low"], row["high"]
        )
        for row in done
    ]
    return tuple(sorted(found, key=Extent.order))


def with_commits(
    history: History, facts: Facts, owned: tuple[Interval, ...]
) -> tuple[Interval, ...]:
    """Return the intervals with the group's last known commit before each.

    A commit is before an interval when its generation is lower; where a generation is not
    known, when it was confirmed earlier.
    """
    if not owned:
        return owned
    spark = history.consume.sparkSession
    schema = StructType(
        [
            StructField("interval", IntegerType()),
            StructField("group_index", IntegerType()),
            StructField("tp", LongType()),
            StructField("begin", LongType()),
            StructField("own_generation", IntegerType()),
        ]
    )
    rows = [(item.number, item.group, item.tp, item.begin, item.generation) for item in owned]
    side = sf.broadcast(local_rows.frame(spark, rows, schema))
    commits = located(
        history.consumer_events.filter(sf.col("event") == ConsumerEvent.COMMITTED), facts
    )
    earlier = sf.coalesce(
        sf.col("generation") < sf.col("own_generation"), sf.col("at") <= sf.col("begin")
    )
    last = (
        commits.join(side, ["group_index", "tp"])
        .filter(earlier)
        .groupBy("interval")
        .agg(sf.max("offset").alias("offset"))
    )
    found = {row["interval"]: row["offset"] for row in last.collect()}
    return tuple(replace(item, committed=found.get(item.number)) for item in owned)
