"""How a run ends: decided before CleaningUp, kept in the journal, carried out after it.

The ending is the reason of the condition Succeeded while that is Unknown, so a controller that
takes over in CleaningUp knows which terminal phase follows.
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
from krt_operator.engine.ports import Happening, Progress
from krt_operator.phases import expectation_results

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.engine.ports import Change, Run
    from krt_operator.errors import UserError

JUDGED: Final = "Judged"
COULD_NOT_RUN: Final = "SetupFailed"
ABORTED: Final = "AbortedByUser"

TERMINAL: Final = {JUDGED: Phase.COMPLETED, COULD_NOT_RUN: Phase.ERROR, ABORTED: Phase.ABORTED}

CONDITION_OF: Final = {
    Phase.PENDING: ConditionType.PROVISIONED,
    Phase.PROVISIONING: ConditionType.PROVISIONED,
    Phase.WARMUP: ConditionType.TRAFFIC_ESTABLISHED,
    Phase.INJECTING: ConditionType.FAULTS_INJECTED,
    Phase.DRAINING: ConditionType.DRAINED,
    Phase.DUMPING_REPLICAS: ConditionType.REPLICAS_DUMPED,
    Phase.SCORING: ConditionType.SCORED,
}
"""The condition a phase works for, which says why the phase failed."""


def ending(status: Status) -> str:
    """The ending in the journal; SetupFailed where there is none."""
    found = find_condition(status.conditions, ConditionType.SUCCEEDED)
    return found.reason if found is not None and found.reason in TERMINAL else COULD_NOT_RUN


def decide(kind: str, verdict: Verdict, summary: str, at: datetime) -> tuple[Change, ...]:
    """The changes that settle how the run ends, before anything is taken away."""
    return (
        journal.put(verdict=verdict, summary=journal.cut(summary)),
        journal.say(ConditionType.SUCCEEDED, ConditionStatus.UNKNOWN, kind, summary, at=at),
    )


def could_not_run(run: Run, error: UserError, at: datetime) -> Progress:
    """End a run that this cluster cannot carry out; the condition names field and remedy."""
    status = run.status
    summary = f"{error.reason}: {error.field}: {error.message}"
    type_ = CONDITION_OF.get(status.phase or Phase.PENDING, ConditionType.PROVISIONED)
    return Progress(
        requeue_after=0,
        next_phase=Phase.CLEANING_UP,
        changes=(
            journal.say(
                type_,
                ConditionStatus.FALSE,
                error.reason,
                f"{error.field}: {error.message}",
                at=at,
            ),
            *expectation_results.not_run(run.spec, error.reason, at),
            *decide(COULD_NOT_RUN, Verdict.INCONCLUSIVE, summary, at),
        ),
        events=(Happening(error.reason, summary, warning=True),),
    )


def aborted(status: Status, at: datetime) -> Progress:
    """End a run because its resource says so."""
    phase = status.phase or Phase.PENDING
    summary = f"aborted by spec.abort in phase {phase}"
    return Progress(
        requeue_after=0,
        next_phase=Phase.CLEANING_UP,
        changes=decide(ABORTED, Verdict.INCONCLUSIVE, summary, at),
        events=(Happening("Aborted", summary),),
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
            journal.say(ConditionType.SUCCEEDED, passed, verdict.value, status.summary, at=at),
            journal.say(
                ConditionType.FINISHED, ConditionStatus.TRUE, kind, f"the run is {phase}", at=at
            ),
            journal.put(completion_time=at, verdict=verdict),
        ),
        events=(Happening(phase.value, f"{verdict}: {status.summary}"),),
    )
