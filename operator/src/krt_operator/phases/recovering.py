"""After the revert: whether the cluster has recovered, since when, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_operator.api.status import ConditionStatus, ConditionType, FaultState
from krt_operator.engine import journal
from krt_operator.engine.remedies import cut
from krt_operator.errors import TransientError
from krt_operator.faults import schedule
from krt_operator.faults.action import FAULT_NOT_VERIFIED
from krt_operator.faults.registry import ACTIONS
from krt_operator.faults.verification import refused_evictions, shows_injection
from krt_operator.health import recovery
from krt_operator.health.begin_offsets import from_begin

if TYPE_CHECKING:
    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus, TargetPod
    from krt_operator.phases.injection_context import InjectionContext

MEMBERS_NOT_RUNNING: Final = "MembersNotRunning"


def check_recovery(ctx: InjectionContext, fault: Fault, entry: FaultStatus) -> None:
    """Write `recoveredAt` when nothing is missing; give up, once, at the recovery deadline.

    A fault that was given up is not checked again: the cluster may become fully replicated after a
    later fault, which is no recovery from this fault.
    """
    if entry.recovered_at is not None or entry.recovery_timed_out_at is not None:
        return
    ctx.observe_effect(fault)
    over = schedule.recovery_timed_out(entry, ctx.recovery, ctx.now)
    missing = _missing(ctx, fault, ctx.entry(fault), over=over)
    if not missing or over:
        _report_interference(ctx, fault)
    if not missing:
        # Not the begin of the pass: brokers of a busy cluster take seconds to answer, and by these
        # the next fault would be late that starts after the recovery.
        recovered_at = ctx.ports.clock.now()
        ctx.record(journal.fault(fault.name, recovered_at=recovered_at))
        took = (recovered_at - (entry.reverted_at or recovered_at)).total_seconds()
        ctx.emit_event("Recovered", f"{fault.name}: recovered {took:.1f} s after the revert")
        deadline = schedule.recovery_deadline(entry, ctx.recovery)
        if deadline is not None and schedule.is_late(deadline, ctx.now):
            # The controller did not run when it should have looked.
            ctx.add_interruption(fault, "found to have recovered", deadline, ctx.now)
        return
    if over:
        _give_up(ctx, fault, missing)


def _report_interference(ctx: InjectionContext, fault: Fault) -> None:
    for problem in ACTIONS[fault.action].find_interference(ctx.fault_context(fault)):
        ctx.add_inconclusive_reason(
            FAULT_NOT_VERIFIED, f"fault {fault.name}: {problem}", fault=fault.name
        )


def _give_up(ctx: InjectionContext, fault: Fault, missing: str) -> None:
    entry = ctx.entry(fault)
    not_running = recovery.not_running(ctx.plan, entry, ctx.observed, ctx.absent())
    limit = ctx.run.spec.timeouts.recovery
    message = f"{fault.name}: not recovered {limit} after the revert: {not_running or missing}"
    ctx.record(journal.fault(fault.name, recovery_timed_out_at=ctx.now, message=cut(message)))
    reason = MEMBERS_NOT_RUNNING if not_running else "RecoveryTimedOut"
    if not_running:
        ctx.add_inconclusive_reason(MEMBERS_NOT_RUNNING, message, fault=fault.name)
    ctx.set_condition(ConditionType.RECOVERED, ConditionStatus.FALSE, reason, message)
    ctx.emit_event(reason, message, warning=True)


def _missing(ctx: InjectionContext, fault: Fault, entry: FaultStatus, *, over: bool) -> str:
    down = ctx.absent()
    replaced = _replaced(ctx)
    pod = recovery.missing_pod(
        ctx.plan, ctx.observed.pods, down, replaced
    ) or recovery.missing_broker_pod(entry, ctx.observed.broker_pods, down, replaced)
    if pod:
        return pod
    action = ACTIONS[fault.action]
    if action.ends_silently(fault, ctx.plan.broker_session.delta):
        expired = recovery.sessions_expired_at(entry, ctx.plan)
        if expired is not None and ctx.now < expired:
            return "the session of a killed broker has not expired"
    # At the deadline Kafka decides, even if its answer takes time that another fault needs.
    if not ctx.quiet() and not over:
        return "another fault is about to be injected or reverted"
    view = ctx.view()
    if view is None:
        return "no broker answers"
    # A move that Kafka did not accept never comes.
    moved = action.moved_partitions(fault, ctx.plan) if shows_injection(fault, entry) else ()
    return (
        recovery.missing_move(moved, fault.target_replicas, view)
        or recovery.missing_replica(ctx.plan, view, down, frozenset(entry.referenced_brokers))
        or _unsettled_group(ctx, down)
    )


def _replaced(ctx: InjectionContext) -> frozenset[str]:
    """Uids of the targets that cannot become ready again, because another pod replaces them.

    Other targets stay: after a crash without a duration the pod restarts in place, and so does a
    frozen pod or one whose eviction was refused.
    """
    faults = {fault.name: fault for fault in ctx.run.spec.faults}
    members = {member.member for member in ctx.plan.members}

    def stays(fault: Fault, entry: FaultStatus, target: TargetPod) -> bool:
        if target.pod in refused_evictions(entry):
            return True
        is_member = bool(target.namespace) or target.member in members
        return ACTIONS[fault.action].keeps_pod(fault, is_member=is_member)

    return frozenset(
        target.uid
        for entry in ctx.status.faults
        if entry.state is FaultState.REVERTED
        for target in entry.targets
        if not stays(faults[entry.name], entry, target)
    )


def _unsettled_group(ctx: InjectionContext, down: frozenset[str]) -> str:
    topics = sorted({topic.name for topic in ctx.plan.topics})
    try:
        with ctx.ports.connect(ctx.plan, ctx.bootstrap) as kafka:
            bounds = from_begin(ctx.plan, kafka.bounds(topics))
            for consumer in ctx.plan.spec.traffic.consumers:
                group = kafka.group(consumer.group)
                unsettled = recovery.unsettled_group(ctx.plan, consumer, group, bounds, down)
                if unsettled:
                    return unsettled
    except TransientError as error:
        return str(error)
    return ""
