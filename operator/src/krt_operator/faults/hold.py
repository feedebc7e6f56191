"""Who must not run now: the members and traffic pods that open faults hold down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_operator.api.spec import Action
from krt_operator.api.status import FaultState, ObservationKind
from krt_operator.engine import journal

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.api.spec import Fault, Spec
    from krt_operator.api.status import FaultStatus, Status
    from krt_operator.engine.progress import Change

HOLDING: Final = frozenset({FaultState.INJECTED, FaultState.ACTIVE})
"""States in which a fault with `duration` keeps its targets down. Not Scheduled: a crash needs its
pod until the process is dead."""


DOWN: Final = frozenset({Action.DELETE_POD, Action.CRASH_POD, Action.EVICT_POD})
"""Actions whose targets have no pod while `duration` lasts."""


def held(status: Status, spec: Spec) -> frozenset[str]:
    """Members (`kafka-0`, `zk-1`, `producer-a-0`) that must not run, by the journal.

    The builders render a held member's StatefulSet with 0 replicas and leave a held traffic pod
    out, in every phase: it is what makes a hold level-triggered.
    """
    return frozenset(
        target.member
        for fault, entry in _open(status, spec)
        if _keeps_down(fault)
        for target in entry.targets
        if target.pod not in refused(entry)
    )


def _keeps_down(fault: Fault) -> bool:
    # A disk is lost with its pod gone, however short: the claim stays while a pod uses it.
    lost = fault.action is Action.LOSE_DISK
    return lost or (fault.action in DOWN and fault.duration.micros > 0)


def refused(entry: FaultStatus) -> frozenset[str]:
    """Pods that a fault left alone because their disruption budget refused the eviction."""
    return frozenset(
        one.subject for one in entry.observations if one.kind is ObservationKind.EVICTION_REFUSED
    )


def absent(status: Status, spec: Spec) -> frozenset[str]:
    """Members that open faults keep from taking part: held down, or frozen in their pods."""
    frozen = frozenset(
        target.member
        for fault, entry in _open(status, spec)
        if fault.action is Action.FREEZE_POD
        for target in entry.targets
    )
    return held(status, spec) | frozen


def _open(status: Status, spec: Spec) -> list[tuple[Fault, FaultStatus]]:
    faults = {fault.name: fault for fault in spec.faults}
    return [
        (faults[entry.name], entry)
        for entry in status.faults
        if entry.name in faults and entry.state in HOLDING
    ]


def busy(status: Status, but: str = "") -> dict[str, str]:
    """Members under a fault that is not reverted yet, each with the fault's name.

    Args:
        status: the journal.
        but: a fault to leave out, the one that asks.
    """
    return {
        target.member: fault.name
        for fault in status.faults
        if fault.state.open and fault.name != but
        for target in fault.targets
    }


def release(status: Status, now: datetime) -> tuple[Change, ...]:
    """Let go whatever is held: for a run that ends before its faults do.

    Faults that were not injected yet become Skipped, so that nobody injects them any more.
    """
    changes = []
    for fault in status.faults:
        if fault.state in HOLDING:
            changes.append(journal.fault(fault.name, state=FaultState.REVERTED, reverted_at=now))
        elif fault.state in (FaultState.PENDING, FaultState.SCHEDULED):
            over = "the run ended before"
            changes.append(journal.fault(fault.name, state=FaultState.SKIPPED, message=over))
    return tuple(changes)
