"""Every guard, and what each of them looks at.

A new guard is a module of this package, named after its reason, and an entry in ``GUARDS``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring.verdict.guards import (
    clock_skew,
    controller_reasons,
    cut_below_begin,
    fault_verification,
    isr_at_election,
    log_stability,
    member_departure,
    member_ended,
    missing_rows,
    mixed_runs,
    producer_summary,
    replica_dumps,
    slow_baseline,
    timeline_gaps,
    too_few_operations,
    traffic_pod_lost,
    unknown_leaders,
    unknown_outcomes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from krt_scoring.anomalies.results import Detection
    from krt_scoring.history.intervals import Interval
    from krt_scoring.history.replicas import Partition
    from krt_scoring.inputs.reasons import Reason
    from krt_scoring.inputs.recording import Recording
    from krt_scoring.metrics.measures import Measures


@dataclass(frozen=True, slots=True)
class GuardInputs:
    """The results of the steps before the guards; nothing in it grows with the records.

    Attributes:
        recording: what was recorded.
        detection: what the rules detected.
        measures: what was measured.
        ownerships: who owned which partition in which group, and when.
        replicas: what was dumped of each partition's replicas; empty where none were requested.
    """

    recording: Recording
    detection: Detection
    measures: Measures
    ownerships: tuple[Interval, ...] = ()
    replicas: tuple[Partition, ...] = ()


GUARDS: Mapping[str, Callable[[GuardInputs], Iterator[Reason]]] = {
    "clock_skew": lambda given: clock_skew.check(given.measures.counts, given.measures.gaps),
    "controller_reasons": lambda given: controller_reasons.check(
        given.recording.timeline, given.recording.log_ends
    ),
    "cut_below_begin": lambda given: cut_below_begin.check(given.recording),
    "fault_verification": lambda given: fault_verification.check(given.recording),
    "isr_at_election": lambda given: isr_at_election.check(
        given.recording, given.detection.violations
    ),
    "log_stability": lambda given: log_stability.check(
        given.recording.run, given.recording.log_ends
    ),
    "member_departure": lambda given: member_departure.check(
        given.recording.run, given.recording.faults, given.ownerships
    ),
    "member_ended": lambda given: member_ended.check(given.recording),
    "missing_rows": lambda given: missing_rows.check(given.recording),
    "mixed_runs": lambda given: mixed_runs.check(given.recording),
    "producer_summary": lambda given: producer_summary.check(given.recording),
    "replica_dumps": lambda given: replica_dumps.check(given.replicas, given.recording.inspection),
    "slow_baseline": lambda given: slow_baseline.check(
        given.recording, given.measures.detection_limits, given.ownerships
    ),
    "timeline_gaps": lambda given: timeline_gaps.check(given.recording),
    "too_few_operations": lambda given: too_few_operations.check(
        given.recording.faults, given.detection.ledger, given.measures.counts
    ),
    "traffic_pod_lost": lambda given: traffic_pod_lost.check(given.recording),
    "unknown_leaders": lambda given: unknown_leaders.check(
        given.recording, given.detection.violations
    ),
    "unknown_outcomes": lambda given: unknown_outcomes.check(given.measures.counts),
}
"""Guard → its check, which yields its reasons."""


def check_all(given: GuardInputs) -> list[Reason]:
    """Return the reasons of all guards, in order."""
    return sorted(reason for check in GUARDS.values() for reason in check(given))
