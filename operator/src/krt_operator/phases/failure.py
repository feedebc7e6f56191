"""What follows from a pass that failed: it is reported, and it never keeps a run for ever.

`spec.abort` and the deadlines are looked at here too, because a pass that fails may not come to
them. A failure is reported in the condition Reconciling, at once or, where it may well be over by
the next pass, after RETRY_PATIENCE.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator.api.status import Phase
from krt_operator.constants import (
    CLEANUP_FAILURE_PATIENCE,
    RECORDER_PATIENCE,
    REPLICA_DUMP_GRACE,
    RETRY_PATIENCE,
    SCORING_GRACE,
)
from krt_operator.engine import journal, reconciling
from krt_operator.engine.progress import Progress
from krt_operator.errors import UserError
from krt_operator.phases import outcome, scoring
from krt_operator.phases.failure_reasons import classify, message_of

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.engine.progress import Run

FROM_THE_FAILURE: Final = frozenset({Phase.PENDING, Phase.INJECTING, Phase.CLEANING_UP})
"""Phases without a deadline from their start that a failure could be measured by."""

DRAIN_STEPS: Final = 4
"""Steps of Draining that may take `timeouts.drain` each; see `krt_operator.phases.draining`."""


def on_failure(run: Run, error: Exception, at: datetime) -> Progress:
    """Report the failure of a pass; end the run if it was aborted or its time is over."""
    phase = run.status.phase or Phase.PENDING
    if run.spec.abort and phase is not Phase.CLEANING_UP:
        return outcome.aborted(run, at)
    if isinstance(error, UserError) and phase is not Phase.CLEANING_UP:
        # Of a side effect; those of a step have ended the run already.
        return outcome.setup_failed(run, error.reason, str(error), at)
    failure = classify(error)
    message = message_of(error, failure)
    since = reconciling.failing_since(run.status, failure.reason, at)
    lasted = (at - since).total_seconds()
    reported = not failure.passing or lasted > RETRY_PATIENCE
    changes, events = reconciling.failing(
        run.status, failure.reason, message, at, reported=reported
    )
    # Failures of several kinds in turn, none of which lasts, end the run at its deadline, too.
    began = reconciling.all_failing_since(run.status, since)
    deadline = max(_deadline(run, phase, began), began + timedelta(seconds=RETRY_PATIENCE))
    out_of_patience = failure.patience is not None and lasted >= failure.patience
    if not out_of_patience and at <= deadline:
        return Progress(changes=changes, events=events)
    ended = _end(run, phase, failure.reason, message, at)
    return Progress(
        next_phase=ended.next_phase,
        changes=(*changes, *ended.changes),
        events=(*events, *ended.events),
    )


def _end(run: Run, phase: Phase, reason: str, message: str, at: datetime) -> Progress:
    if phase is Phase.CLEANING_UP:
        return outcome.finish(run.status, at, left=message)
    if phase is Phase.SCORING:
        return scoring.failed(run, f"{reason}: {message}", at)
    return outcome.setup_failed(run, reason, message, at)


def _deadline(run: Run, phase: Phase, since: datetime) -> datetime:
    """Until when passes may fail: the phase's own deadline, from its start where it has one.

    Args:
        run: the run.
        phase: its phase.
        since: when passes began to fail.
    """
    timeouts = run.spec.timeouts
    if phase in FROM_THE_FAILURE:
        allowed = {
            # A test may wait in the queue for ever, but not on a failure: others wait behind it.
            Phase.PENDING: timeouts.provisioning.delta,
            # Faults have deadlines of their own; after a revert none is longer than this.
            Phase.INJECTING: timeouts.recovery.delta,
            Phase.CLEANING_UP: timedelta(seconds=CLEANUP_FAILURE_PATIENCE),
        }
        return since + allowed[phase]
    attempts = max(run.status.scoring_attempt, 1)
    allowed = {
        Phase.PROVISIONING: timeouts.provisioning.delta,
        Phase.WARMUP: timeouts.warmup.delta + run.spec.warmup.delta,
        Phase.DRAINING: DRAIN_STEPS * timeouts.drain.delta + timedelta(seconds=RECORDER_PATIENCE),
        Phase.DUMPING_REPLICAS: timeouts.replica_dump.delta + timedelta(seconds=REPLICA_DUMP_GRACE),
        Phase.SCORING: attempts * timeouts.scoring.delta + timedelta(seconds=SCORING_GRACE),
    }
    return (journal.started(run.status, phase) or since) + allowed[phase]
