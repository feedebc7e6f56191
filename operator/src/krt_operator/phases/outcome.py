"""How a run ends: decided before CleaningUp, kept in the journal, carried out after it.

The ending is the reason of the condition Succeeded while its status is Unknown. A controller that
takes over in CleaningUp reads there which terminal phase follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_operator.api.conditions import find_condition
from krt_operator.api.status import (
    ConditionStatus,
    ConditionType,
    Phase,
    Status,
    Verdict,
)
from krt_operator.engine import journal
from krt_operator.engine.progress import Event, Progress
from krt_operator.phases import expectation_results

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.engine.progress import Change, Run
    from krt_operator.errors import UserError

VERDICT_REACHED: Final = "VerdictReached"
SETUP_FAILED: Final = "SetupFailed"
ABORTED: Final = "AbortedByUser"

TERMINAL: Final = {
    VERDICT_REACHED: Phase.COMPLETED,
    SETUP_FAILED: Phase.ERROR,
    ABORTED: Phase.ABORTED,
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


def ending(status: Status) -> str:
    """The ending in the journal; SetupFailed where there is none."""
    found = find_condition(status.conditions, ConditionType.SUCCEEDED)
    return found.reason if found is not None and found.reason in TERMINAL else SETUP_FAILED


def decide(kind: str, verdict: Verdict, summary: str, at: datetime) -> tuple[Change, ...]:
    """The changes that decide how the run ends, before anything is deleted."""
    return (
        journal.put(verdict=verdict, summary=journal.cut(summary)),
        journal.set_condition(
            ConditionType.SUCCEEDED, ConditionStatus.UNKNOWN, kind, summary, at=at
        ),
    )


def setup_failed(run: Run, error: UserError, at: datetime) -> Progress:
    """End a run that the cluster cannot carry out; the condition names field and remedy."""
    status = run.status
    summary = f"{error.reason}: {error.field}: {error.message}"
    type_ = CONDITION_OF.get(status.phase or Phase.PENDING, ConditionType.PROVISIONED)
    return Progress(
        requeue_after=0,
        next_phase=Phase.CLEANING_UP,
        changes=(
            journal.set_condition(
                type_,
                ConditionStatus.FALSE,
                error.reason,
                f"{error.field}: {error.message}",
                at=at,
            ),
            *expectation_results.not_run(run.spec, error.reason, at),
            *decide(SETUP_FAILED, Verdict.INCONCLUSIVE, summary, at),
        ),
        events=(Event(error.reason, summary, warning=True),),
    )


def aborted(status: Status, at: datetime) -> Progress:
    """End a run because spec.abort is set."""
    phase = status.phase or Phase.PENDING
    summary = f"aborted by spec.abort in phase {phase}"
    return Progress(
        requeue_after=0,
        next_phase=Phase.CLEANING_UP,
        changes=decide(ABORTED, Verdict.INCONCLUSIVE, summary, at),
        events=(Event("Aborted", summary),),
    )


def finish(status: Status, at: datetime) -> Progress:
    """Enter the terminal phase: Finished once, Succeeded with the verdict as its reason."""
    kind = ending(status)
    verdict = status.verdict or Verdict.INCONCLUSIVE
    passed = ConditionStatus.TRUE if verdict is Verdict.PASSED else ConditionStatus.FALSE
    phase = TERMINAL[kind]
    return Progress(
        requeue_after=0,
        next_phase=phase,
        changes=(
            journal.set_condition(
                ConditionType.SUCCEEDED, passed, verdict.value, status.summary, at=at
            ),
            journal.set_condition(
                ConditionType.FINISHED, ConditionStatus.TRUE, kind, f"the run is {phase}", at=at
            ),
            journal.put(completion_time=at, verdict=verdict),
        ),
        events=(Event(phase.value, f"{verdict}: {status.summary}"),),
    )
