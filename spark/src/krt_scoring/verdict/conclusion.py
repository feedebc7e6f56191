"""From the results of a run to its verdict: reasons, objectives, decision, score, summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring.metrics import operations
from krt_scoring.verdict import objectives, score, summary, verdict, warnings
from krt_scoring.verdict.guards import fault_verification
from krt_scoring.verdict.score_inputs import score_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krt_scoring.inputs.reasons import Reason
    from krt_scoring.selftest.results import SelfTestResult
    from krt_scoring.verdict.guards.registry import GuardInputs
    from krt_scoring.verdict.objectives import Objective
    from krt_scoring.verdict.score import Score
    from krt_scoring.verdict.verdict import Decision
    from krt_scoring.verdict.warnings import MeasurementWarning


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The verdict on a run.

    Attributes:
        decision: the verdict, and the violations, reasons and objectives that decided it.
        summary: the verdict in one line.
        score: None where the run is Inconclusive.
        verified: fault → whether its effect was observed.
        warnings: what measurements say against each other; they decide nothing.
    """

    decision: Decision
    summary: str
    score: Score | None
    verified: Mapping[str, bool]
    warnings: tuple[MeasurementWarning, ...] = ()


def conclude(
    given: GuardInputs, reasons: Iterable[Reason], tested: SelfTestResult | None = None
) -> Conclusion:
    """Return the verdict on a run.

    Args:
        given: what was recorded, detected and measured.
        reasons: why the run, or a part of it, proves nothing.
        tested: the result of the self-test, where the run was tested.
    """
    detection, recording = given.detection, given.recording
    missed = tested.reason() if tested else None
    decision = verdict.decide(
        detection.violations,
        sorted({*reasons, *([missed] if missed else ())}),
        _objectives(given),
        detection.void,
    )
    transactions = given.measures.transactions
    aborted = transactions.records("aborted") if transactions else 0
    found = tuple(warnings.check(given.measures))
    inconclusive = decision.verdict == "Inconclusive"
    return Conclusion(
        decision,
        summary.line(
            decision, detection.ledger, detection.anomalies, tested, warnings=found, aborted=aborted
        ),
        None if inconclusive else score.compute(score_inputs(detection, decision)),
        {
            fault.name: fault_verification.verified(fault, recording.timeline)
            for fault in recording.faults
        },
        found,
    )


def _objectives(given: GuardInputs) -> tuple[Objective, ...]:
    detection, measures = given.detection, given.measures
    lost = max(detection.anomaly("lost-write").count, detection.ledger.get("lost", 0))
    complete = all(item.complete for item in measures.recoveries)
    unaffected = measures.recoveries and not any(item.affected for item in measures.recoveries)
    return objectives.evaluate(
        objectives.limits(given.recording.run.resolved_spec),
        {
            "lostRecords": lost,
            "maxWriteUnavailability": measures.longest_gap(operations.WRITE),
            "maxReadUnavailability": measures.longest_gap(operations.READ),
            "maxRecovery": measures.longest_recovery,
        },
        () if complete else ("maxRecovery",),
        detection_limits={
            "maxWriteUnavailability": measures.detection_limit(operations.WRITE),
            "maxReadUnavailability": measures.detection_limit(operations.READ),
        },
        unaffected=("maxRecovery",) if unaffected else (),
    )
