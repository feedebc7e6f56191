"""Who must not run now: the members and traffic pods that open faults hold down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator import journal
from krt_operator.api.status import FaultState

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.api.spec import Spec
    from krt_operator.api.status import Status
    from krt_operator.ports import Change

HOLDING = frozenset({FaultState.INJECTED, FaultState.HELD})
"""States in which a fault with `downFor` keeps its targets down. Not Intended: a crash needs its
pod until the process is dead."""


def held(status: Status, spec: Spec) -> frozenset[str]:
    """Members (`kafka-0`, `zk-1`, `producer-a-0`) that must not run, by the journal.

    The builders render a held member's StatefulSet with 0 replicas and leave a held traffic pod
    out, in every phase: it is what makes a hold level-triggered.
    """
    holds = {fault.name for fault in spec.faults if fault.down_for.micros > 0}
    return frozenset(
        target.member
        for fault in status.faults
        if fault.name in holds and fault.state in HOLDING
        for target in fault.targets
    )


def busy(status: Status, but: str = "") -> dict[str, str]:
    """Members under a fault that is not healed yet, each with the fault's name.

    Args:
        status: the journal.
        but: a fault to leave out, the one that asks.
    """
    states = {FaultState.INTENDED, *HOLDING}
    return {
        target.member: fault.name
        for fault in status.faults
        if fault.state in states and fault.name != but
        for target in fault.targets
    }


def release(status: Status, now: datetime) -> tuple[Change, ...]:
    """Let go whatever is held: for a run that ends before its faults do.

    Faults that were not injected yet become Skipped, so that nobody injects them any more.
    """
    changes = []
    for fault in status.faults:
        if fault.state in HOLDING:
            changes.append(journal.fault(fault.name, state=FaultState.HEALED, healed_at=now))
        elif fault.state in (FaultState.PENDING, FaultState.INTENDED):
            over = "the run ended before"
            changes.append(journal.fault(fault.name, state=FaultState.SKIPPED, message=over))
    return tuple(changes)
