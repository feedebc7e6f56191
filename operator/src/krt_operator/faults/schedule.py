"""When a fault is due, and when it never will be: from the journal alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from krt_operator.api.spec import Action, Fault, StartEvent
from krt_operator.api.status import FaultState, FaultStatus

if TYPE_CHECKING:
    from collections.abc import Mapping


LATE: Final = timedelta(seconds=10)
"""How late a fault or a revert may be before the run no longer shows what it was to show."""


def entry(status: Mapping[str, FaultStatus], fault: Fault) -> FaultStatus:
    """The journal of a fault; an untouched one where there is none yet."""
    return status.get(fault.name, FaultStatus(name=fault.name))


def due_at(
    fault: Fault, journal: Mapping[str, FaultStatus], injecting_since: datetime
) -> datetime | None:
    """When the fault is to be injected; None while what it waits for has not happened."""
    after = fault.starts_after
    since = injecting_since
    if after.fault is not None:
        before = journal.get(after.fault)
        happened = None if before is None else _when(before, after.event)
        if happened is None:
            return None
        since = happened
    return since + fault.delay.delta


def revert_due(fault: Fault, journal: FaultStatus) -> datetime | None:
    """When the fault is to be reverted; None before it was injected, or where no time is set for it.

    A rolling restart is over when its last member was restarted, however long that takes.
    """
    if journal.injected_at is None or fault.action is Action.ROLLING_RESTART:
        return None
    return journal.injected_at + fault.duration.delta


def recovery_deadline(journal: FaultStatus, recovery: timedelta) -> datetime | None:
    """Until when the cluster may take to be whole again; None before the revert."""
    return None if journal.reverted_at is None else journal.reverted_at + recovery


def unrecovered(journal: FaultStatus, recovery: timedelta, now: datetime) -> bool:
    """Whether the cluster did not become whole in time after this fault."""
    deadline = recovery_deadline(journal, recovery)
    return journal.recovered_at is None and deadline is not None and now > deadline


def blocked(
    fault: Fault, journal: Mapping[str, FaultStatus], recovery: timedelta, now: datetime
) -> str:
    """Why the fault will never be due, as a sentence; empty where it still may be."""
    before = journal.get(fault.starts_after.fault or "")
    if before is None:
        return ""
    if before.state is FaultState.SKIPPED:
        return f"it waits for {before.name}, which was skipped"
    waits_for_recovery = fault.starts_after.event is StartEvent.RECOVERED
    if waits_for_recovery and unrecovered(before, recovery, now):
        return f"it waits for the recovery from {before.name}, which did not come in time"
    return ""


def late(due: datetime, done: datetime) -> bool:
    """Whether what was due then was done too late to count."""
    return done - due > LATE


def settled(journal: FaultStatus, recovery: timedelta, now: datetime) -> bool:
    """Whether nothing more will happen to this fault."""
    if journal.state is FaultState.SKIPPED:
        return True
    return journal.recovered_at is not None or unrecovered(journal, recovery, now)


def _when(journal: FaultStatus, event: StartEvent) -> datetime | None:
    match event:
        case StartEvent.STARTED:
            return journal.injected_at
        case StartEvent.REVERTED:
            return journal.reverted_at
        case StartEvent.RECOVERED:
            return journal.recovered_at
