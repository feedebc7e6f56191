"""How a run ends: decided before CleaningUp, kept in `status.ending`, carried out after it.

A controller that takes over in CleaningUp reads there which terminal phase follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_operator.api.status import (
    ConditionStatus,
    ConditionType,
    Ending,
    Phase,
    Report,
    Status,
    Verdict,
)
from krt_operator.engine import journal, reconciling
from krt_operator.engine.progress import Event, Progress
from krt_operator.engine.remedies import cut, with_remedy
from krt_operator.faults.hold import end_open_faults
from krt_operator.phases import expectation_results

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.engine.progress import Change, Run

TERMINAL: Final = {
    Ending.VERDICT_REACHED: Phase.COMPLETED,
    Ending.SETUP_FAILED: Phase.ERROR,
    Ending.ABORTED_BY_USER: Phase.ABORTED,
}
"""Ending to the terminal phase."""

CONDITION_OF: Final = {
    Phase.PENDING: ConditionType.PROVISIONED,
    Phase.PROVISIONING: ConditionType.PROVISIONED,
    Phase.WARMUP: ConditionType.TRAFFIC_ESTABLISHED,
    Phase.INJECTING: ConditionType.FAULTS_INJECTED,
    Phase.DRAINING: ConditionType.DRAINED,
    Phase.DUMPING_REPLICAS: ConditionType.REPLICAS_DUMPED,
    Phase.SCORING: ConditionType.SCORED,
}
"""The condition that becomes True when a phase succeeds, and says why it failed."""

WITH_EVIDENCE: Final = frozenset(
    {Phase.WARMUP, Phase.INJECTING, Phase.DRAINING, Phase.DUMPING_REPLICAS, Phase.SCORING}
)
"""Phases from which the evidence of a run that ends early may be worth a look."""


def decide(ending: Ending, verdict: Verdict, summary: str, at: datetime) -> tuple[Change, ...]:
    """The changes that decide how the run ends, before anything is deleted."""
    return (
        journal.put(ending=ending, verdict=verdict, summary=cut(summary)),
        journal.set_condition(
            ConditionType.SUCCEEDED, ConditionStatus.UNKNOWN, ending.value, summary, at=at
        ),
    )


def setup_failed(run: Run, reason: str, message: str, at: datetime) -> Progress:
    """End a run that the cluster cannot carry out.

    Args:
        run: the run.
        reason: CamelCase word.
        message: what is wrong, in which field, and the remedy.
        at: now.
    """
    phase = run.status.phase or Phase.PENDING
    message = with_remedy(reason, message)
    summary = f"{reason}: {message}"
    type_ = CONDITION_OF.get(phase, ConditionType.PROVISIONED)
    return Progress(
        requeue_after=0,
        next_phase=Phase.CLEANING_UP,
        changes=(
            *_evidence(run, phase),
            journal.set_condition(type_, ConditionStatus.FALSE, reason, message, at=at),
            *expectation_results.not_run(run.spec, reason, at),
            *decide(Ending.SETUP_FAILED, Verdict.INCONCLUSIVE, summary, at),
        ),
        events=(Event(reason, message, warning=True),),
    )


def aborted(run: Run, at: datetime) -> Progress:
    """End a run because spec.abort is set."""
    phase = run.status.phase or Phase.PENDING
    summary = f"aborted by spec.abort in phase {phase}"
    return Progress(
        requeue_after=0,
        next_phase=Phase.CLEANING_UP,
        changes=(
            *_evidence(run, phase),
            *expectation_results.not_scored(run.spec, at),
            *decide(Ending.ABORTED_BY_USER, Verdict.INCONCLUSIVE, summary, at),
        ),
        events=(Event("Aborted", summary),),
    )


def _evidence(run: Run, phase: Phase) -> tuple[Change, ...]:
    return (journal.put(report=Report(path=run.bundle)),) if phase in WITH_EVIDENCE else ()


def finish(status: Status, at: datetime, left: str = "") -> Progress:
    """Enter the terminal phase: Finished once, Succeeded with the verdict as its reason.

    The journal has no open fault after that.

    Args:
        status: of the run.
        at: now.
        left: what could not be cleaned up; empty where everything was.
    """
    ending = status.ending or Ending.SETUP_FAILED
    verdict = status.verdict or Verdict.INCONCLUSIVE
    passed = ConditionStatus.TRUE if verdict is Verdict.PASSED else ConditionStatus.FALSE
    phase = TERMINAL[ending]
    message = f"the run is {phase}"
    events = [Event(phase.value, f"{verdict}: {status.summary}")]
    if left:
        remedy = "delete the test to delete its objects"
        message = f"{message}; not cleaned up: {left}; {remedy}"
        events.append(Event("CleanupIncomplete", f"{left}; {remedy}", warning=True))
    return Progress(
        requeue_after=0,
        next_phase=phase,
        changes=(
            *end_open_faults(status, at),
            journal.set_condition(
                ConditionType.SUCCEEDED, passed, verdict.value, status.summary, at=at
            ),
            journal.set_condition(
                ConditionType.FINISHED, ConditionStatus.TRUE, ending.value, message, at=at
            ),
            *reconciling.finished(status, at),
            journal.put(completion_time=at, verdict=verdict),
        ),
        events=tuple(events),
    )
