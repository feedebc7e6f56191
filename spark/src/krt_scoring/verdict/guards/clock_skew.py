"""Clocks that disagree by more than the shortest gap that was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.durations import MICROS
from krt_scoring import durations
from krt_scoring.inputs.evidence import CLOCKS
from krt_scoring.inputs.reasons import CLOCK_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krt_scoring.metrics.counting import OperationCounts
    from krt_scoring.metrics.gaps import Gap

ALWAYS_TOLERATED = 10_000
"""µs; a slewed clock and two readings apart differ by this much without a fault."""


def check(counts: OperationCounts, gaps: Sequence[Gap]) -> Iterator[Reason]:
    """Yield ``ClocksDisagree``."""
    shortest = min((gap.duration for gap in gaps), default=MICROS["s"])
    skew = counts.skew
    if skew > max(shortest, ALWAYS_TOLERATED):
        message = (
            f"clocks disagree by {durations.show(skew)}, more than the shortest measured gap of "
            f"{durations.show(shortest)} (a record was delivered before it was sent, or a clock "
            "was set during the run). Synchronize the nodes' clocks and run the test again"
        )
        scope = Scope(tables=(CLOCKS,))
        yield Reason("evidence", "ClocksDisagree", "clocks", message, CLOCK_ANOMALIES, scope)
