"""Clocks that disagree by more than the shortest gap claimed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring import durations
from krt_scoring.inputs.reasons import CLOCK_ANOMALIES, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.verdict.guards.facts import Facts

ALWAYS_TOLERATED = 10_000
"""µs; a slewed clock and two readings apart differ by this without anybody being wrong."""


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``ClocksDisagree``."""
    shortest = min((gap.duration for gap in facts.gaps), default=durations.MICROS["s"])
    skew = facts.operations.skew
    if skew > max(shortest, ALWAYS_TOLERATED):
        message = (
            f"clocks disagree by {durations.show(skew)} (a record was handed out before it was "
            "sent, or a clock was set during the run); the shortest gap claimed is "
            f"{durations.show(shortest)}"
        )
        yield Reason("evidence", "ClocksDisagree", "clocks", message, CLOCK_ANOMALIES)
