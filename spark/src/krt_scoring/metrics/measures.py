"""Everything that is measured of a run: latencies, gaps and recoveries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from krt_scoring.metrics import breakdown, counting, operations, recovery
from krt_scoring.metrics import gaps as gap_finder
from krt_scoring.metrics.span import span_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_scoring.history.history import History
    from krt_scoring.inputs.recording import Recording
    from krt_scoring.metrics.counting import OperationCounts
    from krt_scoring.metrics.gaps import Gap, PartitionOperations
    from krt_scoring.metrics.operations import Lanes
    from krt_scoring.metrics.recovery import Recovery


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured of a run.

    Attributes:
        counts: latencies and outcomes.
        thresholds: (direction, group) → the shortest gap that can be seen, µs.
        gaps: every gap, in order.
        measured: the operations of each partition and direction in which gaps can be seen.
        recoveries: of each injected fault.
        assigned: (group, topic, partition) → when it was assigned to a member, UTC µs.
    """

    counts: OperationCounts
    thresholds: Mapping[tuple[str, str], int] = field(default_factory=dict)
    gaps: Sequence[Gap] = ()
    measured: Sequence[PartitionOperations] = ()
    recoveries: Sequence[Recovery] = ()
    assigned: Mapping[tuple[str, str, int], Sequence[int]] = field(default_factory=dict)

    def longest_gap(self, direction: str) -> int | None:
        """Return the longest gap of a direction, µs; None where nothing of it was measured."""
        if not any(item.direction == direction for item in self.measured):
            return None
        return max((gap.duration for gap in self.gaps if gap.direction == direction), default=0)

    @property
    def longest_recovery(self) -> int | None:
        """The longest recovery, µs; None without faults."""
        return recovery.longest(self.recoveries)


def measure(history: History, recording: Recording) -> Measures:
    """Measure a run in two passes over its operations.

    Args:
        history: the history of the run.
        recording: what was recorded of the run.
    """
    faults, span = recording.faults, span_of(recording)
    isr_restored = recovery.isr_restored_times(recording.timeline, recording.run, faults, span.end)
    named, rows = operations.lanes(history), operations.operations(history)
    counts = counting.count(rows, named, span, faults, isr_restored)
    # A tool that does not record when an operation was due leaves no base to measure a gap by.
    limits = {} if recording.run.imported else gap_finder.thresholds(_steady(counts, named))
    settled = rows.where(f"due >= {span.steady}")
    block = gap_finder.BLOCK_SLOTS if counts.latencies.total >= gap_finder.MANY else 1
    timed = gap_finder.timed(settled, named, limits, block=block)
    gaps, measured = gap_finder.find(timed, named, span.end, faults) if limits else ([], [])
    return Measures(
        counts,
        limits,
        gaps,
        measured,
        recovery.recoveries(faults, isr_restored, counts.last_read, span.end),
        breakdown.assignments(history),
    )


def _steady(counts: OperationCounts, named: Lanes) -> dict[tuple[str, str], tuple[int, int]]:
    found = {}
    for lane in range(len(named.groups) + 1):
        kind, group = named.kind(lane)
        histogram = counts.latencies.over(kind, "before", group=group)
        found[kind, group] = (histogram.total, histogram.percentile(99))
    return found
