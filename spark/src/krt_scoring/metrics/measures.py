"""Everything that is measured of a run: latencies, gaps and recoveries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from krt_scoring.engine.caching import cache
from krt_scoring.metrics import breakdown, counting, operations, recovery, seconds
from krt_scoring.metrics import gaps as gap_finder
from krt_scoring.metrics.span import span_of
from krt_scoring.metrics.transactions import count_transactions
from krt_scoring.metrics.waits import waits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from krt_scoring.history.history import History
    from krt_scoring.inputs.recording import Recording
    from krt_scoring.metrics.counting import OperationCounts
    from krt_scoring.metrics.gaps import Gap, PartitionOperations
    from krt_scoring.metrics.operations import Lanes
    from krt_scoring.metrics.recovery import Recovery
    from krt_scoring.metrics.seconds import Seconds
    from krt_scoring.metrics.span import Span
    from krt_scoring.metrics.transactions import Transactions


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured of a run.

    Attributes:
        counts: latencies and outcomes.
        detection_limits: (direction, group) → the shortest gap that can be seen, µs.
        gaps: every gap, in order.
        measured: the operations of each partition and direction in which gaps can be seen.
        recoveries: of each injected fault.
        assigned: (group, topic, partition) → when it was assigned to a member, UTC µs.
        transactions: how transactions ended; None where the run has none.
        seconds: what was sent, acknowledged and delivered in each second.
    """

    counts: OperationCounts
    detection_limits: Mapping[tuple[str, str], int] = field(default_factory=dict)
    gaps: Sequence[Gap] = ()
    measured: Sequence[PartitionOperations] = ()
    recoveries: Sequence[Recovery] = ()
    assigned: Mapping[tuple[str, str, int], Sequence[int]] = field(default_factory=dict)
    transactions: Transactions | None = None
    seconds: Seconds | None = None

    def longest_gap(self, direction: str, group: str | None = None) -> int | None:
        """Return the longest gap of a direction, of one group if given, µs; None: none was seen."""
        return max(
            (
                gap.duration
                for gap in self.gaps
                if gap.direction == direction and group in (None, gap.group)
            ),
            default=None,
        )

    def detection_limit(self, direction: str) -> int | None:
        """Return below what a gap of a direction may be unseen, µs; None: nothing was measured."""
        measured = {(item.direction, item.group) for item in self.measured}
        return max(
            (
                limit
                for kind, limit in self.detection_limits.items()
                if kind[0] == direction and kind in measured
            ),
            default=None,
        )

    @property
    def longest_recovery(self) -> int | None:
        """The longest recovery, µs; None where no fault affected anything."""
        return recovery.longest(self.recoveries)


def measure(history: History, recording: Recording) -> Measures:
    """Measure a run in three passes over its operations.

    Args:
        history: the history of the run.
        recording: what was recorded of the run.
    """
    faults, span = recording.faults, span_of(recording)
    named, rows = operations.lanes(history), operations.operations(history)
    limits, measured, gaps = _find_gaps(rows, named, span, recording)
    isrs = recovery.isr_recoveries(recording.timeline, recording.run, faults, span.end)
    served = breakdown.served_again(gaps, faults)
    until = recovery.available_again(isrs, served)
    counts = counting.count(rows, named, span, faults, until)
    return Measures(
        counts,
        limits,
        gaps,
        measured,
        recovery.recoveries(faults, isrs, served, counts.last_read, span.end),
        breakdown.assignments(history),
        count_transactions(recording.run, recording.inspection.files),
        seconds.count(history, span, latencies=not recording.run.imported),
    )


def _find_gaps(
    rows: DataFrame, named: Lanes, span: Span, recording: Recording
) -> tuple[Mapping[tuple[str, str], int], Sequence[PartitionOperations], Sequence[Gap]]:
    # A tool that does not record when an operation was due leaves no base to measure a gap by.
    if recording.run.imported:
        return {}, (), ()
    found = cache(waits(rows, span.steady, recording.faults))
    try:
        limits, measured = gap_finder.survey(found.rows, named, recording.faults)
        return limits, measured, gap_finder.find(found.rows, named, limits) if limits else ()
    finally:
        found.release()
