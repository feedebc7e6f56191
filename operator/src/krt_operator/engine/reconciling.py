"""The condition Reconciling: whether passes over the test succeed, and if not, why.

The condition is absent until a pass has failed. `status.reconcileFailure` holds since when passes
fail, because a condition's own time changes only with its status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_operator.api.conditions import find_condition
from krt_operator.api.status import ConditionStatus, ConditionType, ReconcileFailure
from krt_operator.engine import journal
from krt_operator.engine.progress import Event

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.api.status import Status
    from krt_operator.engine.progress import Change

RECONCILED: Final = "Reconciled"
FINISHED: Final = "RunFinished"


def failing_since(status: Status, reason: str, at: datetime) -> datetime:
    """Since when passes fail for this reason; `at` where the last one did not."""
    before = _same_failure(status, reason)
    return at if before is None else before.since


def all_failing_since(status: Status, since: datetime) -> datetime:
    """Since when no pass has succeeded, whatever the reasons.

    The condition is False from the first failure that it reports until a pass succeeds.

    Args:
        status: as it was last written.
        since: since when passes fail for the reason of the last one.
    """
    shown = find_condition(status.conditions, ConditionType.RECONCILING)
    if shown is None or shown.status is not ConditionStatus.FALSE:
        return since
    return min(since, shown.last_transition_time)


def failing(
    status: Status, reason: str, message: str, at: datetime, *, reported: bool
) -> tuple[tuple[Change, ...], tuple[Event, ...]]:
    """The changes after a failed pass, and an event where the reason was not reported before.

    Args:
        status: as it was last written.
        reason: CamelCase word.
        message: what failed, and the remedy.
        at: when.
        reported: whether the failure is to be seen in the condition already.
    """
    before = _same_failure(status, reason)
    shown = before is not None and before.reported
    failure = ReconcileFailure(
        reason=reason, since=before.since if before else at, reported=reported or shown
    )
    changes: list[Change] = [journal.put(reconcile_failure=failure)]
    if failure.reported:
        changes.append(_condition(ConditionStatus.FALSE, reason, message, at))
    events = (Event(reason, message, warning=True),) if failure.reported and not shown else ()
    return tuple(changes), events


def succeeded(status: Status, at: datetime) -> tuple[tuple[Change, ...], tuple[Event, ...]]:
    """The changes after a pass that succeeded: none where the one before succeeded, too."""
    failure = status.reconcile_failure
    if failure is None:
        return (), ()
    cleared = journal.put(reconcile_failure=None)
    shown = find_condition(status.conditions, ConditionType.RECONCILING)
    if shown is None or shown.status is not ConditionStatus.FALSE:
        return (cleared,), ()
    seconds = (at - failure.since).total_seconds()
    message = f"the run goes on after {seconds:.0f} s of {failure.reason}"
    condition = _condition(ConditionStatus.TRUE, RECONCILED, message, at)
    return (cleared, condition), (Event(RECONCILED, message),)


def finished(status: Status, at: datetime) -> tuple[Change, ...]:
    """The change at the end of the run: nothing is reconciled any more."""
    if find_condition(status.conditions, ConditionType.RECONCILING) is None:
        return ()
    return (_condition(ConditionStatus.FALSE, FINISHED, "the run is over", at),)


def _same_failure(status: Status, reason: str) -> ReconcileFailure | None:
    """The failure of the pass before; None where that pass did not fail for this reason."""
    before = status.reconcile_failure
    return before if before is not None and before.reason == reason else None


def _condition(status: ConditionStatus, reason: str, message: str, at: datetime) -> Change:
    return journal.set_condition(ConditionType.RECONCILING, status, reason, message, at=at)
