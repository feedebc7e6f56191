"""What of a run is measured, where the rules judge: latencies, progress and gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring.metrics import gaps as gap_finder
from krt_scoring.metrics import operations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_scoring.history.history import History
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.metrics.gaps import Gap, Measured
    from krt_scoring.metrics.operations import Lanes, Operations, Span


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured of a run.

    Attributes:
        operations: latencies and outcomes, counted.
        thresholds: (direction, group) → least length of a gap, µs.
        gaps: every gap, in order.
        measured: what was due where a gap could be told.
    """

    operations: Operations
    thresholds: Mapping[tuple[str, str], int]
    gaps: list[Gap]
    measured: list[Measured]

    def longest(self, direction: str) -> int | None:
        """Return the longest gap of a direction, µs; None where nothing of it was measured."""
        if not any(item.direction == direction for item in self.measured):
            return None
        return max((gap.duration for gap in self.gaps if gap.direction == direction), default=0)


def measure(
    history: History, span: Span, faults: Sequence[FaultWindow], whole: Sequence[int | None]
) -> Measures:
    """Measure a run in two passes over its operations.

    Args:
        history: the history's base tables.
        span: when the run's operations were due.
        faults: the faults.
        whole: for each fault, when every ISR was whole again; None where it never was.
    """
    named, rows = operations.lanes(history), operations.operations(history)
    counted = operations.count(rows, named, span, faults, whole)
    # Who does not tell when an operation was due leaves nothing to measure a gap by.
    limits = {} if history.facts.run.imported else gap_finder.thresholds(_steady(counted, named))
    settled = rows.where(f"due >= {span.steady}")
    done = sum(histogram.total for histogram in counted.histograms.values())
    block = gap_finder.BLOCK_SLOTS if done >= gap_finder.MANY else 1
    timed = gap_finder.timed(settled, named, limits, block=block)
    gaps, measured = gap_finder.find(timed, named, span.end, faults) if limits else ([], [])
    return Measures(counted, limits, gaps, measured)


def _steady(counted: Operations, named: Lanes) -> dict[tuple[str, str], tuple[int, int]]:
    found = {}
    for lane in range(len(named.groups) + 1):
        kind, group = named.kind(lane)
        histogram = counted.latency(kind, "before", group=group)
        found[kind, group] = (histogram.total, histogram.percentile(99))
    return found
