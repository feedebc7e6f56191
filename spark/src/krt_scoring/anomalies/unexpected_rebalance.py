"""unexpected-rebalance: one that nothing in the window before it explains. Reported only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.allowances.groups import patience
from krt_scoring.anomalies import driver_findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.history.base import Base
    from krt_scoring.history.facts import Group

NAME = "unexpected-rebalance"
RULE = "reported-only"

ROUND = 3_000_000
"""µs without an assignment after which the next one belongs to another rebalance, where members
do not know their generation: members of one round hear of it within a heartbeat (3 s)."""


def rebalances(base: Base) -> list[tuple[Group, int]]:
    """Return every rebalance of every group and when it was first seen, in UTC µs."""
    rounds: dict[int, list[tuple[int, int | None]]] = {}
    for item in sorted(base.reading.owned, key=lambda item: item.begin):
        known = rounds.setdefault(item.group, [])
        fresh = not known or (
            item.generation not in [generation for _, generation in known]
            if item.generation is not None
            else item.begin - known[-1][0] > ROUND
        )
        if fresh:
            known.append((item.begin, item.generation))
    return [(base.facts.groups[group], at) for group in sorted(rounds) for at, _ in rounds[group]]


def unexplained(base: Base) -> list[dict[str, Any]]:
    """Return one finding a rebalance that no join, leave or death explains."""
    rows: list[dict[str, Any]] = []
    for group, at in rebalances(base):
        window = patience(base.facts.run, group)
        members = [member for member in base.reading.members if member.group == group.index]
        causes = [member.came for member in members]
        causes += [member.left for member in members if member.left is not None]
        if not any(at - window <= cause <= at + ROUND for cause in causes):
            rows.append({"anomaly": NAME, "rule": RULE, "grp": group.name, "detail": {"at": at}})
    return rows


def possible(base: Base) -> bool:
    """Whether any rebalance has no explanation."""
    return bool(unexplained(base))


def find(base: Base) -> DataFrame:
    """Return the findings."""
    return driver_findings.findings(base, unexplained(base))
