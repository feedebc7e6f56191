"""Where each interval begins: the group's last commit before it, and the first delivery in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from krt_contract.outcomes import ConsumerEvent
from krt_scoring.engine import local_rows
from krt_scoring.history.intervals import with_lane

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_scoring.history import offset_jumps
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.intervals import Interval
    from krt_scoring.history.tables import Tables

Resets = dict[tuple[int, int, str], list[int]]
"""Group, topic-partition id and incarnation → numbers of the events by which it was reset."""


def with_commits(tables: Tables, facts: Facts, owned: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """Return the intervals with the group's last known commit before each.

    A member's own commit is before an interval by the member's own order, another's when its
    generation is lower; where a generation is not known, when it was confirmed earlier. The last
    one is that of the highest generation, and within it that which was confirmed last; where the
    generation of any is not known, times alone decide.
    """
    if not owned:
        return owned
    schema = StructType(
        [
            StructField("interval", IntegerType()),
            StructField("group_index", IntegerType()),
            StructField("tp", LongType()),
            StructField("begin", LongType()),
            StructField("own_generation", IntegerType()),
            StructField("own_incarnation", StringType()),
            StructField("own_seq", LongType()),
        ]
    )
    rows = [
        (
            *(item.number, item.group, item.tp, item.begin, item.generation),
            *(item.incarnation, item.first_seq),
        )
        for item in owned
    ]
    side = sf.broadcast(local_rows.frame(tables.spark, rows, schema))
    confirmed = tables.consumer_events.filter(sf.col("event") == ConsumerEvent.COMMITTED.value)
    commits = with_lane(confirmed, facts)
    earlier = sf.when(
        sf.col("incarnation") == sf.col("own_incarnation"),
        sf.col("event_seq") < sf.col("own_seq"),
    ).otherwise(
        sf.coalesce(
            sf.col("generation") < sf.col("own_generation"), sf.col("at") <= sf.col("begin")
        )
    )
    # Incarnations last: equal times of two members are put in some order, always the same.
    order = ("at", "event_seq", "incarnation")
    last = (
        commits.join(side, ["group_index", "tp"])
        .filter(earlier)
        .groupBy("interval")
        .agg(
            sf.max_by(sf.struct("offset", "at"), sf.struct("generation", *order)).alias("ordered"),
            sf.max_by(sf.struct("offset", "at"), sf.struct(*order)).alias("timed"),
            sf.max(sf.col("generation").isNull()).alias("unordered"),
        )
    )
    found = {
        row["interval"]: row["timed"] if row["unordered"] else row["ordered"]
        for row in last.collect()
    }
    return tuple(
        replace(item, committed=found[item.number]["offset"], committed_at=found[item.number]["at"])
        if item.number in found
        else item
        for item in owned
    )


def with_deliveries(
    owned: tuple[Interval, ...], starts: Iterable[offset_jumps.Begin], resets: Resets
) -> tuple[Interval, ...]:
    """Return the intervals with the first ok delivery in each.

    After a recorded reset, which a truncated log forces upon a member, a first delivery does not
    show where the assignment let it begin.

    Args:
        owned: the intervals.
        starts: first deliveries after events that let a member begin anywhere.
        resets: recorded resets.
    """
    by_lane: dict[tuple[int, int, str], list[offset_jumps.Begin]] = {}
    for begin in starts:
        by_lane.setdefault((begin.group, begin.tp, begin.incarnation), []).append(begin)
    found = []
    for item in owned:
        begins = by_lane.get((item.group, item.tp, item.incarnation), [])
        within = [it for it in begins if item.first_seq <= it.event_seq < item.last_seq]
        first = min(within, key=lambda it: it.event_seq, default=None)
        numbers = resets.get((item.group, item.tp, item.incarnation), [])
        if first and not any(item.first_seq < number < first.event_seq for number in numbers):
            found.append(replace(item, delivered=first.offset))
        else:
            found.append(item)
    return tuple(found)
