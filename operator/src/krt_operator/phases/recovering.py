"""After the revert: is the cluster whole again, since when, and if not, whose is it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import ConditionStatus, ConditionType, FaultState
from krt_operator.engine import journal
from krt_operator.errors import TransientError
from krt_operator.faults import schedule
from krt_operator.faults.registry import ACTIONS
from krt_operator.faults.verification import refused_evictions
from krt_operator.health import recovery

if TYPE_CHECKING:
    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus, TargetPod
    from krt_operator.phases.injection_context import Pass


def recovering(this: Pass, fault: Fault, entry: FaultStatus) -> None:
    """Write `recoveredAt` when nothing is lacking; give up, once, when the time is over.

    A reverted fault with a message was given up: it is not looked at again, for a later fault may
    make the cluster whole and that would be no recovery from this one.
    """
    if entry.recovered_at is not None or entry.message:
        return
    this.prove(fault)
    lacking = _lacking(this, fault, this.entry(fault))
    if not lacking:
        this.note(journal.fault(fault.name, recovered_at=this.now))
        took = (this.now - (entry.reverted_at or this.now)).total_seconds()
        this.tell("Recovered", f"{fault.name}: whole again {took:.1f} s after the revert")
        deadline = schedule.recovery_deadline(entry, this.recovery)
        if deadline is not None and schedule.is_late(deadline, this.now):
            # Whole, but seen only now: the controller was away when it should have looked.
            this.interrupted(fault, "seen to have recovered", deadline, this.now)
        return
    if schedule.recovery_timed_out(entry, this.recovery, this.now):
        _give_up(this, fault, lacking)


def _give_up(this: Pass, fault: Fault, lacking: str) -> None:
    why = recovery.not_running(this.plan, this.world.pods, this.absent())
    limit = this.run.spec.timeouts.recovery
    message = f"{fault.name}: not whole {limit} after the revert: {why or lacking}"
    this.note(journal.fault(fault.name, message=journal.cut(message)))
    reason = "MembersNotRunning" if why else "RecoveryTimedOut"
    if why:
        this.doubt("MembersNotRunning", f"{message}; mend the Kubernetes cluster and run again")
    this.say(ConditionType.RECOVERED, ConditionStatus.FALSE, reason, message)
    this.tell(reason, message, warning=True)


def _lacking(this: Pass, fault: Fault, entry: FaultStatus) -> str:
    held = this.absent()
    lacking = recovery.lacking_pods(this.plan, this.world.pods, held, _replaced(this))
    if lacking:
        return lacking
    earliest = recovery.not_before(fault, entry, this.plan)
    if earliest is not None and this.now < earliest:
        return "a killed broker's ZooKeeper session has not ended"
    if not this.calm():
        return "another fault is about to be injected or reverted"
    view = this.view()
    if view is None:
        return "no broker answers"
    return (
        recovery.lacking_move(fault, this.plan, view)
        or recovery.lacking_cluster(this.plan, view, held)
        or _groups(this, held)
    )


def _replaced(this: Pass) -> frozenset[str]:
    """Uids that cannot come back.

    Others can: after a crash without a hold the pod restarts in place, and one that was frozen,
    or whose eviction was refused, stays.
    """
    faults = {fault.name: fault for fault in this.run.spec.faults}
    members = {one.member for one in this.plan.members}

    def stays(fault: Fault, entry: FaultStatus, target: TargetPod) -> bool:
        if target.pod in refused_evictions(entry):
            return True
        return ACTIONS[fault.action].keeps_pod(fault, is_member=target.member in members)

    return frozenset(
        target.uid
        for one in this.status.faults
        if one.state is FaultState.REVERTED
        for target in one.targets
        if not stays(faults[one.name], one, target)
    )


def _groups(this: Pass, held: frozenset[str]) -> str:
    topics = sorted({topic.name for topic in this.plan.topics})
    try:
        with this.ports.kafka(this.bootstrap) as kafka:
            bounds = kafka.bounds(topics)
            for consumer in this.plan.spec.traffic.consumers:
                group = kafka.group(consumer.group)
                lacking = recovery.lacking_group(this.plan, consumer, group, bounds, held)
                if lacking:
                    return lacking
    except TransientError as error:
        return str(error)
    return ""
