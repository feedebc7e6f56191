"""Changes of the status: small pure functions that a phase combines.

Each returns a `Change`, a function from the status that was read to the one to write. No change
undoes another: phases only advance, an inconclusive reason stays once it was added, the times of a
fault are set once. Two controllers that apply the same change to the same status get the same
result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.conditions import Condition, find_condition, with_condition
from krt_operator.api.status import (
    ConditionStatus,
    ConditionType,
    FaultStatus,
    InconclusiveReason,
    InconclusiveReasonKind,
    Phase,
    PhaseRecord,
    Status,
)
from krt_operator.engine.reasons import is_known, with_reason
from krt_operator.engine.remedies import with_remedy

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from krt_operator.engine.progress import Change


def enter(phase: Phase, at: datetime) -> Change:
    """End the current phase and start the given phase at `at`; does nothing in that phase."""

    def change(status: Status) -> Status:
        if status.phase is phase:
            return status
        ended = tuple(
            entry if entry.end_time is not None else entry.model_copy(update={"end_time": at})
            for entry in status.phases
        )
        record = PhaseRecord(name=phase, start_time=at, end_time=at if phase.terminal else None)
        return status.replace(phase=phase, phases=(*ended, record))

    return change


def set_condition(
    type_: ConditionType, status: ConditionStatus, reason: str, message: str, *, at: datetime
) -> Change:
    """Set a condition; its transition time moves only when its status does."""
    new = Condition(
        type=type_,
        status=status,
        reason=reason,
        message=with_remedy(reason, message),
        last_transition_time=at,
    )

    def change(journal: Status) -> Status:
        return journal.replace(conditions=with_condition(journal.conditions, new))

    return change


def is_true(status: Status, type_: ConditionType) -> bool:
    """Whether the condition is True."""
    found = find_condition(status.conditions, type_)
    return found is not None and found.status is ConditionStatus.TRUE


def add_inconclusive_reason(
    code: str, kind: InconclusiveReasonKind, message: str, at: datetime, *, fault: str = ""
) -> Change:
    """Add an inconclusive reason; the same code with the same message is added once.

    Args:
        code: CamelCase word.
        kind: what it puts in doubt.
        message: what happened, with the remedy where `remedies.py` has none for the code.
        at: when it was observed.
        fault: name of the fault it is about, where it is about one.
    """
    new = InconclusiveReason(
        code=code, kind=kind, fault=fault, message=with_remedy(code, message), at=at
    )

    def change(status: Status) -> Status:
        return with_reason(status, new)

    return change


def is_known_reason(status: Status, code: str, message: str) -> bool:
    """Whether this inconclusive reason was added before."""
    return is_known(status, code, with_remedy(code, message))


def has_inconclusive_reason(status: Status, code: str) -> bool:
    """Whether an inconclusive reason of this code was added."""
    return any(reason.code == code for reason in status.inconclusive_reasons)


def fault(name: str, **changes: Any) -> Change:
    """Change fields of one fault's journal entry, adding the entry where there is none."""

    def change(status: Status) -> Status:
        known = {entry.name: entry for entry in status.faults}
        old = known.get(name, FaultStatus(name=name))
        known[name] = FaultStatus.model_validate({**dict(old), **changes})
        return status.replace(faults=tuple(known.values()))

    return change


def put(**changes: Any) -> Change:
    """Set fields of the status."""

    def change(status: Status) -> Status:
        return status.replace(**changes)

    return change


def apply_all(status: Status, changes: tuple[Change, ...]) -> Status:
    """The status after all changes, in order."""
    for change in changes:
        status = change(status)
    return status


def started(status: Status, phase: Phase) -> datetime | None:
    """When a phase was entered, None if it was not."""
    return next((record.start_time for record in status.phases if record.name is phase), None)
