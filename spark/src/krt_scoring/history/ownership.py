"""Who owned which partition from when to when, from the consumers' own events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import ConsumerEvent
from krt_contract.timeline import EventName, Source
from krt_scoring.engine import local_rows
from krt_scoring.history import extents, freezes, intervals
from krt_scoring.history.interval_starts import with_commits, with_deliveries
from krt_scoring.history.intervals import Interval, Member
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from krt_contract.timeline import Event
    from krt_scoring.history import offset_jumps
    from krt_scoring.history.extents import Extent
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.interval_starts import Resets
    from krt_scoring.history.offset_jumps import Lane
    from krt_scoring.history.tables import Tables

ENDING = (
    ConsumerEvent.ASSIGNED,
    ConsumerEvent.REVOKED,
    ConsumerEvent.LOST,
    ConsumerEvent.CLOSED,
)
"""Events that end the interval of their partition before them."""

LEAVING = (ConsumerEvent.LOST, ConsumerEvent.CLOSED)
"""Events by which a member leaves its group. Where they name no partition they end every interval
of the member; an assignment without partitions does not, since a cooperative member keeps what it
was not asked to give up."""


@dataclass(frozen=True)
class Ownership:
    """The ownerships of a run.

    Attributes:
        intervals: in order of group, partition and begin.
        members: who was in the groups.
        unowned: where somebody delivered that nothing says owned the partition.
    """

    tables: Tables
    facts: Facts
    intervals: tuple[Interval, ...]
    members: tuple[Member, ...]
    unowned: frozenset[Lane]

    @property
    def _spark(self) -> SparkSession:
        return self.tables.spark

    def changes(self, group: int) -> list[int]:
        """Return when members of a group joined it, left it or died, UTC µs.

        A member that was frozen for as long as its session lasts left it with its session.
        """
        members = [member for member in self.members if member.group == group]
        lapses = [item.lapse for item in self.intervals if item.group == group]
        found = [at for member in members for at in (*member.joined, *member.left)]
        return found + [at for at in lapses if at != FOREVER]

    @cached_property
    def table(self) -> DataFrame:
        """The intervals as a DataFrame."""
        return intervals.table(self._spark, self.intervals)

    @cached_property
    def extents(self) -> tuple[Extent, ...]:
        """What was done in each interval, by group, partition and number."""
        return extents.collect(self.tables, self.facts, self.table)

    @cached_property
    def activity(self) -> dict[int, int]:
        """Number of an interval → when anything was last delivered or committed in it, UTC µs."""
        return {item.interval: item.last_at for item in self.extents if item.interval is not None}

    @cached_property
    def activity_table(self) -> DataFrame:
        """``interval, last_at``: the activity as a DataFrame."""
        rows = sorted(self.activity.items())
        return local_rows.frame(self._spark, rows, "interval int, last_at long")


def collect(tables: Tables, facts: Facts, starts: Iterable[offset_jumps.Begin]) -> Ownership:
    """Collect every ownership of a run.

    Args:
        tables: the evidence.
        facts: the run's.
        starts: the first deliveries after each assignment (``Reading.starts``).
    """
    begins = tuple(starts)
    asked = (*ENDING, ConsumerEvent.RESET)
    events = tables.consumer_events.filter(sf.col("event").isin(*asked)).select(
        facts.group_index().alias("grp"),
        facts.positions.tp_column().alias("tp"),
        sf.col("topic").isNull().alias("whole"),
        *("consumer", "incarnation", "event_seq", "at", "event", "offset", "generation"),
    )
    deaths = deaths_of(tables.timeline)
    found: list[Interval] = []
    by_incarnation: dict[tuple[int, str], list[Row]] = {}
    resets: Resets = {}
    for row in events.collect():
        if row["event"] == ConsumerEvent.RESET:
            resets.setdefault((row["grp"], row["tp"], row["incarnation"]), []).append(
                row["event_seq"]
            )
        elif row["grp"] is not None:
            by_incarnation.setdefault((row["grp"], row["incarnation"]), []).append(row)
    for (group, incarnation), rows in by_incarnation.items():
        death = deaths.get(incarnation, FOREVER)
        found += _of_incarnation(group, sorted(rows, key=lambda row: row["event_seq"]), death)
    members = [
        _member(group, incarnation, rows, deaths)
        for (group, incarnation), rows in sorted(by_incarnation.items())
    ]
    found.sort(key=lambda item: (item.group, item.tp, item.begin, item.incarnation, item.first_seq))
    numbered = tuple(replace(item, number=number) for number, item in enumerate(found))
    lapsed = freezes.with_lapses(numbered, freezes.collect(tables.timeline), facts)
    begun = with_deliveries(lapsed, begins, resets)
    committed = with_commits(tables, facts, begun)
    return Ownership(tables, facts, committed, tuple(members), unowned(committed, begins))


def unowned(owned: Sequence[Interval], starts: Iterable[offset_jumps.Begin]) -> frozenset[Lane]:
    """Return the groups and partitions of deliveries that fall into no interval.

    Args:
        owned: the intervals.
        starts: first deliveries after events that let a member begin anywhere; what follows one of
            them falls into the same interval.
    """
    spans: dict[tuple[int, int, str], list[tuple[int, int]]] = {}
    for item in owned:
        lane = (item.group, item.tp, item.incarnation)
        spans.setdefault(lane, []).append((item.first_seq, item.last_seq))
    return frozenset(
        (begin.group, begin.tp)
        for begin in starts
        if not any(
            first <= begin.event_seq < last
            for first, last in spans.get((begin.group, begin.tp, begin.incarnation), ())
        )
    )


def _member(group: int, incarnation: str, rows: list[Row], deaths: dict[str, int]) -> Member:
    rows = sorted(rows, key=lambda row: row["event_seq"])
    leaves = [row["at"] for row in rows if row["event"] in LEAVING]
    if incarnation in deaths:
        leaves.append(deaths[incarnation])
    again = [row["at"] for before, row in pairwise(rows) if before["event"] in LEAVING]
    return Member(
        group=group,
        incarnation=incarnation,
        joined=(min(row["at"] for row in rows), *again),
        left=tuple(leaves),
    )


def _of_incarnation(group: int, rows: list[Row], death: int) -> list[Interval]:
    found = []
    for index, row in enumerate(rows):
        if row["event"] != ConsumerEvent.ASSIGNED or row["tp"] is None:
            continue
        end = next((item for item in rows[index + 1 :] if _ends(item, row["tp"])), None)
        found.append(
            Interval(
                number=0,
                group=group,
                tp=row["tp"],
                consumer=row["consumer"],
                incarnation=row["incarnation"],
                first_seq=row["event_seq"],
                last_seq=end["event_seq"] if end else FOREVER,
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


def deaths_of(timeline: Sequence[Event]) -> dict[str, int]:
    """Return pod uid → when its containers had certainly ended, in UTC µs."""
    found: dict[str, int] = {}
    for event in timeline:
        if event.source == Source.POD and event.event in (EventName.EXITED, EventName.DELETED):
            uid = str(event.detail.get("uid", ""))
            found[uid] = min(found.get(uid, FOREVER), event.at)
    return found
