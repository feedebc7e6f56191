"""unexpected-rebalance: one that nothing in the window before it explains. Reported only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.anomalies import driver_findings
from krt_scoring.inputs.client_settings import rebalance_window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context
    from krt_scoring.history.groups import Group

NAME = "unexpected-rebalance"
RULE = "reported-only"

ROUND = 3_000_000
"""µs without an assignment after which the next one belongs to another rebalance, where members
do not know their generation: members of one round hear of it within a heartbeat (3 s)."""


def rebalances(ctx: Context) -> list[tuple[Group, int]]:
    """Return every rebalance of every group and when it was first seen, in UTC µs."""
    rounds: dict[int, list[tuple[int, int | None]]] = {}
    for item in sorted(ctx.history.ownership.intervals, key=lambda item: item.begin):
        known = rounds.setdefault(item.group, [])
        fresh = not known or (
            item.generation not in [generation for _, generation in known]
            if item.generation is not None
            else item.begin - known[-1][0] > ROUND
        )
        if fresh:
            known.append((item.begin, item.generation))
    return [
        (ctx.history.facts.groups[group], at) for group in sorted(rounds) for at, _ in rounds[group]
    ]


def unexplained(ctx: Context) -> list[dict[str, Any]]:
    """Return one finding a rebalance that no join, leave or death explains."""
    rows: list[dict[str, Any]] = []
    for group, at in rebalances(ctx):
        window = rebalance_window(ctx.history.facts.run, group.name)
        members = [
            member for member in ctx.history.ownership.members if member.group == group.index
        ]
        causes = [member.joined for member in members]
        causes += [member.left for member in members if member.left is not None]
        if not any(at - window <= cause <= at + ROUND for cause in causes):
            rows.append({"anomaly": NAME, "rule": RULE, "grp": group.name, "detail": {"at": at}})
    return rows


def possible(ctx: Context) -> bool:
    """Whether any rebalance has no explanation."""
    return bool(unexplained(ctx))


def find(ctx: Context) -> DataFrame:
    """Return the findings."""
    return driver_findings.findings(ctx, unexplained(ctx))
