"""When a fault is due, late, settled, or will never be due: from the journal alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from krt_operator.api.spec import Fault, StartEvent
from krt_operator.api.status import FaultState, FaultStatus

if TYPE_CHECKING:
    from collections.abc import Mapping


LATE_AFTER: Final = timedelta(seconds=10)
"""Delay of an injection or a revert after which the run no longer shows what it was meant to."""


def find_entry(entries: Mapping[str, FaultStatus], fault: Fault) -> FaultStatus:
    """The fault's entry in the journal; a new one in state Pending where there is none yet."""
    return entries.get(fault.name, FaultStatus(name=fault.name))


def due_at(
    fault: Fault, entries: Mapping[str, FaultStatus], injecting_since: datetime
) -> datetime | None:
    """When the fault is to be injected; None while the event that it waits for has not happened.

    Args:
        fault: the fault.
        entries: the journal's entries by fault name.
        injecting_since: when the phase Injecting began.
    """
    after = fault.starts_after
    since: datetime | None = injecting_since
    if after.fault is not None:
        previous = entries.get(after.fault)
        since = None if previous is None else _time_of(previous, after.event)
    return None if since is None else since + fault.delay.delta


def recovery_deadline(entry: FaultStatus, recovery: timedelta) -> datetime | None:
    """Until when the cluster may take to recover from the fault; None before its revert."""
    return None if entry.reverted_at is None else entry.reverted_at + recovery


def recovery_timed_out(entry: FaultStatus, recovery: timedelta, now: datetime) -> bool:
    """Whether the cluster did not recover from the fault in time."""
    deadline = recovery_deadline(entry, recovery)
    return entry.recovered_at is None and deadline is not None and now > deadline


def why_never_due(
    fault: Fault, entries: Mapping[str, FaultStatus], recovery: timedelta, now: datetime
) -> str:
    """Why the fault will never be due, as a sentence; empty where it still may be."""
    previous = entries.get(fault.starts_after.fault or "")
    if previous is None:
        return ""
    if previous.state is FaultState.SKIPPED:
        return f"it waits for {previous.name}, which was skipped"
    waits_for_recovery = fault.starts_after.event is StartEvent.RECOVERED
    if waits_for_recovery and recovery_timed_out(previous, recovery, now):
        return f"it waits for the recovery from {previous.name}, which did not come in time"
    return ""


def is_late(due: datetime, done: datetime) -> bool:
    """Whether something was done so long after it was due that it does not count."""
    return done - due > LATE_AFTER


def is_settled(entry: FaultStatus, recovery: timedelta, now: datetime) -> bool:
    """Whether nothing more will happen to the fault."""
    if entry.state is FaultState.SKIPPED:
        return True
    return entry.recovered_at is not None or recovery_timed_out(entry, recovery, now)


def _time_of(entry: FaultStatus, event: StartEvent) -> datetime | None:
    match event:
        case StartEvent.STARTED:
            return entry.injected_at
        case StartEvent.REVERTED:
            return entry.reverted_at
        case StartEvent.RECOVERED:
            return entry.recovered_at
