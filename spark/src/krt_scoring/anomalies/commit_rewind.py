"""commit-rewind: delivery starts below the group's last durable commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.allowances.offsets import OFFSETS_LOST, lost_commits
from krt_scoring.anomalies import driver_findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.allowances.consequences import Spans
    from krt_scoring.anomalies.context import Context
    from krt_scoring.history.intervals import Interval

NAME = "commit-rewind"


def rewound(ctx: Context) -> list[dict[str, Any]]:
    """Return one finding an ownership that began below what the group had committed."""
    lost = lost_commits(ctx.history.tables, ctx.history.facts)
    return [
        driver_findings.of_interval(ctx, NAME, item)
        | {
            "rule": _rule(item, ctx.allowances.consequences, lost),
            "detail": {"lastCommit": item.committed},
        }
        for item in ctx.history.ownership.intervals
        if item.start is not None and item.committed is not None and item.start < item.committed
    ]


def possible(ctx: Context) -> bool:
    """Whether any ownership began below a commit."""
    return bool(rewound(ctx))


def find(ctx: Context) -> DataFrame:
    """Return the findings."""
    return driver_findings.findings(ctx, rewound(ctx))


def _rule(item: Interval, spans: Spans, lost: dict[int, int]) -> str | None:
    start, committed = item.start or 0, item.committed or 0
    for first, last, rule, at in spans.get((item.group, item.tp), []):
        # The commit lay above the cut, and the reset led to it or above it.
        if first < committed <= last + 1 and at <= item.begin and start >= first:
            return rule
    if lost.get(item.group, item.begin + 1) <= item.begin:
        return OFFSETS_LOST
    return None
