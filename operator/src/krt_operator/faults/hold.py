"""Which members and traffic pods open faults keep down, and how they are allowed to run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_operator import names
from krt_operator.api.status import FaultState
from krt_operator.build.members import build_member
from krt_operator.engine import journal
from krt_operator.engine.ownership import with_uid
from krt_operator.faults.registry import ACTIONS
from krt_operator.faults.verification import refused_evictions

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Fault, Spec
    from krt_operator.api.status import FaultStatus, Status
    from krt_operator.engine.progress import Change, Observed
    from krt_operator.engine.views import Json

IN_EFFECT: Final = frozenset({FaultState.INJECTED, FaultState.ACTIVE})
"""States in which a fault keeps its targets down. Scheduled is not one of them: a crash needs the
pod until the process is dead."""


def members_kept_down(status: Status, spec: Spec) -> frozenset[str]:
    """Members (`kafka-0`, `zk-1`, `producer-a-0`) that must not run, by the journal.

    In every phase, the StatefulSet of such a member is rendered with 0 replicas and such a traffic
    pod is not started, so a new controller keeps them down without further state.
    """
    return frozenset(
        target.member
        for fault, entry in _faults_in_effect(status, spec)
        if ACTIONS[fault.action].keeps_down(fault)
        for target in entry.targets
        if target.pod not in refused_evictions(entry)
    )


def unavailable_members(status: Status, spec: Spec) -> frozenset[str]:
    """Members that do not respond because of open faults: kept down, or frozen in their pods."""
    silent = frozenset(
        target.member
        for fault, entry in _faults_in_effect(status, spec)
        if ACTIONS[fault.action].makes_unavailable(fault)
        for target in entry.targets
        if target.pod not in refused_evictions(entry)
    )
    return members_kept_down(status, spec) | silent


def members_under_fault(status: Status, excluded_fault: str = "") -> dict[str, str]:
    """Members with a fault that is not reverted yet, each with the fault's name.

    Args:
        status: the journal.
        excluded_fault: name of a fault to leave out.
    """
    return {
        target.member: fault.name
        for fault in status.faults
        if fault.state.open and fault.name != excluded_fault
        for target in fault.targets
    }


def end_open_faults(status: Status, now: datetime) -> tuple[Change, ...]:
    """Let all members run again, for a run that ends before its faults do.

    Faults that were not injected yet become Skipped, so that they never will be.
    """
    changes = []
    for fault in status.faults:
        if fault.state in IN_EFFECT:
            changes.append(journal.fault(fault.name, state=FaultState.REVERTED, reverted_at=now))
        elif fault.state in (FaultState.PENDING, FaultState.SCHEDULED):
            message = "the run ended before"
            changes.append(journal.fault(fault.name, state=FaultState.SKIPPED, message=message))
    return tuple(changes)


def stateful_sets_to_scale(
    plan: Plan, status: Status, observed: Observed, pull_policy: str
) -> list[Json]:
    """The StatefulSets whose replicas differ from what the open faults require.

    One that an injection scaled to 0 stays at 0 until the injection is in the journal: its member
    would run for a moment, and be taken down a second time.

    Args:
        plan: of the run.
        status: the journal.
        observed: what there is.
        pull_policy: of the members' images.
    """
    kept_down = members_kept_down(status, plan.spec)
    being_injected = {
        target.member
        for entry in status.faults
        if entry.state is FaultState.SCHEDULED
        for target in entry.targets
    }
    stateful_sets: list[Json] = []
    for member in plan.members:
        current = observed.stateful_sets.get(names.of_member(plan.name, member.member))
        if current is None:
            continue
        now, wanted = current["spec"].get("replicas", 1), int(member.member not in kept_down)
        if now == wanted or (now == 0 and member.member in being_injected):
            continue
        uid = current["metadata"]["uid"]
        objects = build_member(plan, member, pull_policy, wanted)
        stateful_sets += [with_uid(obj, uid) for obj in objects if obj["kind"] == "StatefulSet"]
    return stateful_sets


def _faults_in_effect(status: Status, spec: Spec) -> list[tuple[Fault, FaultStatus]]:
    faults = {fault.name: fault for fault in spec.faults}
    return [
        (faults[entry.name], entry)
        for entry in status.faults
        if entry.name in faults and entry.state in IN_EFFECT
    ]
