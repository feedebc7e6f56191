"""commit-rewind: delivery starts below the group's last durable commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.allowances import offsets
from krt_scoring.anomalies import driver_findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.allowances.consequences import Spans
    from krt_scoring.anomalies.context import Context
    from krt_scoring.history.intervals import Interval

NAME = "commit-rewind"


def rewound(ctx: Context) -> list[dict[str, Any]]:
    """Return one finding an ownership that began below what the group had committed.

    It began where the member was assigned the partition, or where it was first delivered from.
    """
    lost = offsets.resumed(ctx.history)
    found = []
    for item in ctx.history.ownership.intervals:
        rewind = _rewind(item)
        if rewind is not None:
            committed, start = rewind
            rule = _rule(item, committed, start, ctx.allowances.consequences)
            excused = offsets.OFFSETS_LOST if item.number in lost else None
            found.append(
                driver_findings.of_interval(ctx, NAME, item)
                | {"offset": start, "rule": rule or excused, "detail": {"lastCommit": committed}}
            )
    return found


def _rewind(item: Interval) -> tuple[int, int] | None:
    """Return the last commit and the lowest offset below it that an ownership began at, or None."""
    starts = [start for start in (item.start, item.delivered) if start is not None]
    start = min(starts, default=None)
    if start is None or item.committed is None or start >= item.committed:
        return None
    return item.committed, start


def possible(ctx: Context) -> bool:
    """Whether any ownership began below a commit."""
    return bool(rewound(ctx))


def find(ctx: Context) -> DataFrame:
    """Return the findings."""
    return driver_findings.findings(ctx, rewound(ctx))


def _rule(item: Interval, committed: int, start: int, spans: Spans) -> str | None:
    for span in spans.get((item.group, item.tp), []):
        if span.permits_rewind(committed, start, item.begin):
            return span.rule
    return None
