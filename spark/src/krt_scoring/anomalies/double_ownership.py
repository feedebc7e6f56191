"""double-ownership: two members both hand out or commit a partition for too long.

Too long is later than max(session timeout, 2 heartbeats) after the newer one was assigned, and by
more than their clocks may differ. Which of
two that overlap is the newer one is said by the group's generations where both are known: a member
that stood still may learn of an old assignment after another member has got a new one.
"""

from __future__ import annotations

from itertools import combinations, groupby
from typing import TYPE_CHECKING, Any

from krt_scoring.anomalies import driver_findings
from krt_scoring.inputs.client_settings import handover_time
from krt_scoring.inputs.timeline import CLOCK_SLACK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context
    from krt_scoring.history.intervals import Interval

NAME = "double-ownership"

NEVER = 0
"""When a member did what it did not do: before any time of a run, in UTC µs."""


def overlaps(ctx: Context) -> list[tuple[Interval, Interval, int]]:
    """Return (older, newer, deadline) of ownerships that nothing says ended in time."""
    found = []
    for (group, _), owners in groupby(
        ctx.history.ownership.intervals, key=lambda item: (item.group, item.tp)
    ):
        handover = handover_time(ctx.history.facts.run, ctx.history.facts.groups[group].name)
        allowed = handover + CLOCK_SLACK
        for pair in combinations(owners, 2):
            older, newer = in_order(*pair)
            deadline = newer.begin + allowed
            if older.incarnation != newer.incarnation and older.end > deadline:
                found.append((older, newer, deadline))
    return found


def in_order(first: Interval, second: Interval) -> tuple[Interval, Interval]:
    """Return two ownerships, of which the first began earlier, with the older one first.

    Generations count again from 1 where the group's state was lost, so they decide only between
    ownerships that overlap.
    """
    if first.generation is None or second.generation is None or first.end <= second.begin:
        return first, second
    return (second, first) if second.generation < first.generation else (first, second)


def possible(ctx: Context) -> bool:
    """Whether any two ownerships overlap."""
    return bool(overlaps(ctx))


def find(ctx: Context) -> DataFrame:
    """Return one finding a pair of ownerships."""
    rows: list[dict[str, Any]] = []
    for older, newer, deadline in overlaps(ctx):
        last = [ctx.history.ownership.activity.get(item.number, NEVER) for item in (older, newer)]
        # One that stood still owns nothing once its session is over, if it soon learns of it.
        lapsed = older.lapse <= deadline and last[0] <= older.tolerated
        if min(last) > deadline and not lapsed:
            rows.append(
                driver_findings.of_interval(ctx, NAME, newer)
                | {"detail": {"otherIncarnation": older.incarnation, "until": min(last)}}
            )
    return driver_findings.findings(ctx, rows)
