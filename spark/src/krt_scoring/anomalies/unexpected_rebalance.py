"""unexpected-rebalance: one that nothing in the window before it explains. Reported only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.anomalies import driver_findings
from krt_scoring.inputs.client_settings import rebalance_window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context
    from krt_scoring.history.groups import Group
    from krt_scoring.history.intervals import Interval

NAME = "unexpected-rebalance"
RULE = "reported-only"

ROUND = 3_000_000
"""µs within which members hear of one rebalance, a heartbeat (3 s): so long after it a join or
leave is noticed at the latest, and so close to it an assignment of unknown generation is part of
it."""


def rebalances(ctx: Context) -> list[tuple[Group, int]]:
    """Return every rebalance of every group and when it was first seen, in UTC µs."""
    return [
        (group, at)
        for group in ctx.history.facts.groups
        for at in _rounds([it for it in ctx.history.ownership.intervals if it.group == group.index])
    ]


def _rounds(intervals: list[Interval]) -> list[int]:
    """Return when each rebalance of a group was first seen.

    A generation is one; so is an assignment of unknown generation that is not close to any other.
    """
    generations: dict[int, int] = {}
    for item in intervals:
        if item.generation is not None:
            first = generations.get(item.generation, item.begin)
            generations[item.generation] = min(first, item.begin)
    found = list(generations.values())
    for begin in sorted(item.begin for item in intervals if item.generation is None):
        if all(abs(begin - at) > ROUND for at in found):
            found.append(begin)
    return sorted(found)


def unexplained(ctx: Context) -> list[dict[str, Any]]:
    """Return one finding a rebalance that no join, leave or death explains."""
    rows: list[dict[str, Any]] = []
    for group, at in rebalances(ctx):
        window = rebalance_window(ctx.history.facts.run, group.name)
        causes = ctx.history.ownership.changes(group.index)
        if not any(at - window <= cause <= at + ROUND for cause in causes):
            rows.append({"anomaly": NAME, "rule": RULE, "grp": group.name, "detail": {"at": at}})
    return rows


def possible(ctx: Context) -> bool:
    """Whether any rebalance has no explanation."""
    return bool(unexplained(ctx))


def find(ctx: Context) -> DataFrame:
    """Return the findings."""
    return driver_findings.findings(ctx, unexplained(ctx))
