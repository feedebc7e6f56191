"""Injecting: one fault after another, or several at once, as the schedule says.

Each fault goes through Pending, Scheduled, Injected, Active and Reverted (or Skipped). Every step
is decided from the journal alone, so a controller that was killed continues where it was. The
intent, with pod names and uids, is in the journal before the fault is injected.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator.api.status import (
    ConditionStatus,
    ConditionType,
    FaultState,
    FaultStatus,
    ObservationKind,
    Phase,
)
from krt_operator.engine import journal
from krt_operator.engine.remedies import cut
from krt_operator.errors import TransientError
from krt_operator.faults import schedule
from krt_operator.faults.action import FAULT_NOT_VERIFIED, UnresolvedTargetError
from krt_operator.faults.hold import members_under_fault
from krt_operator.faults.kafka_state import read_kafka_state
from krt_operator.faults.registry import ACTIONS
from krt_operator.faults.targets import resolve_targets
from krt_operator.faults.verification import shows_injection, target_names, verify
from krt_operator.phases.injection_context import InjectionContext
from krt_operator.phases.recovering import check_recovery

if TYPE_CHECKING:
    from krt_operator.api.spec import Fault
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Observed, Progress, Run

POLL: Final = 0.2
"""Seconds between passes while an injection is under way: kubelet reports the end of a container
within 1 to 2 s."""

RETRY: Final = 0.5
"""Seconds between tries to resolve a target, such as a leader during an election."""

AFTERMATH: Final = timedelta(seconds=5)
"""Undisturbed traffic after the last recovery, so that scoring can compare it with the baseline."""


def step(run: Run, observed: Observed, ports: Ports) -> Progress:
    """Take every fault one step further; when all are settled, enter Draining."""
    ctx = InjectionContext.begin(run, observed, ports)
    for fault in run.spec.faults:
        entry = ctx.entry(fault)
        match entry.state:
            case FaultState.PENDING:
                _pending(ctx, fault, entry)
            case FaultState.SCHEDULED:
                _scheduled(ctx, fault, entry)
            case FaultState.INJECTED:
                _injected(ctx, fault, entry)
            case FaultState.ACTIVE:
                _active(ctx, fault, entry)
            case FaultState.REVERTED:
                check_recovery(ctx, fault, entry)
            case FaultState.SKIPPED:
                pass
    if all(
        schedule.is_settled(ctx.entry(fault), ctx.recovery, ctx.now) for fault in run.spec.faults
    ):
        return _finish(ctx)
    return ctx.progress()


def _pending(ctx: InjectionContext, fault: Fault, entry: FaultStatus) -> None:
    blocked = schedule.why_never_due(fault, ctx.journal, ctx.recovery, ctx.now)
    if blocked:
        _skip(ctx, fault, blocked)
        return
    due = schedule.due_at(fault, ctx.journal, ctx.since)
    if due is None:
        return
    if ctx.now < due:
        ctx.wake((due - ctx.now).total_seconds())
        return
    # A due time in the journal shows that an earlier pass found no target.
    tried = entry.due_at is not None
    try:
        state = read_kafka_state(fault.target, ctx.plan, ctx.ports, ctx.absent())
        targets = resolve_targets(
            fault,
            ctx.plan,
            ctx.observed,
            state,
            members_under_fault(ctx.status, fault.name),
            ctx.ports.addresses,
        )
    except (UnresolvedTargetError, TransientError) as error:
        if tried and schedule.is_late(due, ctx.now):
            _skip(ctx, fault, f"no target found within {schedule.LATE_AFTER.seconds} s: {error}")
        else:
            ctx.record(journal.fault(fault.name, due_at=due, message=cut(str(error))))
            ctx.wake(RETRY)
        return
    ctx.record_intent(
        journal.fault(
            fault.name,
            state=FaultState.SCHEDULED,
            targets=targets,
            due_at=due,
            scheduled_at=ctx.now,
            attempt=1,
            message="",
        )
    )
    _inject(ctx, fault)


def _inject(ctx: InjectionContext, fault: Fault) -> None:
    ctx.side_effects.append(ACTIONS[fault.action].act(ctx.fault_context(fault)))
    ctx.wake(POLL)


def _scheduled(ctx: InjectionContext, fault: Fault, entry: FaultStatus) -> None:
    result = ACTIONS[fault.action].outcome(ctx.fault_context(fault))
    if result is None:
        _inject(ctx, fault)
        return
    since = entry.scheduled_at or ctx.now
    if result.pending and ctx.now - since <= result.timeout:
        if not result.requested:
            _inject(ctx, fault)
        ctx.wake(POLL)
        return
    if result.pending and not result.requested and not entry.referenced_brokers:
        # Nothing was started: the controller was interrupted after it had written the intent. What
        # is started in a pod of the test has the name of its attempt, so it is not started twice.
        ctx.record_intent(journal.fault(fault.name, scheduled_at=ctx.now))
        _inject(ctx, fault)
        return
    due = entry.due_at or since
    if result.failures and not result.final and not schedule.is_late(due, ctx.now):
        ctx.record_intent(journal.fault(fault.name, attempt=entry.attempt + 1))
        _inject(ctx, fault)
        return
    problems = [f"{subject}: {failure}" for subject, failure in sorted(result.failures.items())]
    problems += [
        f"{subject}: no answer within {result.timeout.seconds} s" for subject in result.pending
    ]
    problems += [f"{pod}: gone before the fault was injected" for pod in result.lost]
    ctx.record_intent(
        journal.fault(
            fault.name,
            state=FaultState.INJECTED,
            injected_at=result.first_at or since,
            **vars(verify(fault, entry, ctx.plan, result.observations)),
        )
    )
    if problems:
        ctx.add_inconclusive_reason(
            FAULT_NOT_VERIFIED, f"fault {fault.name}: {'; '.join(problems)}", fault=fault.name
        )
    _injected(ctx, fault, ctx.entry(fault))


def _injected(ctx: InjectionContext, fault: Fault, entry: FaultStatus) -> None:
    at = entry.injected_at or ctx.now
    due = entry.due_at or at
    # The Job of a tool takes seconds to start; the controller was in time when it created the Job.
    done = entry.scheduled_at or at if ACTIONS[fault.action].runs_in_job else at
    if schedule.is_late(due, done):
        ctx.add_interruption(fault, "injected", due, done)
    affected = ", ".join(target_names(fault, entry, ctx.plan))
    if _missed_all(ctx, fault, entry):
        message = f"{fault.name}: no report of a {fault.action} of {affected}"
        ctx.emit_event(FAULT_NOT_VERIFIED, message, warning=True)
    else:
        ctx.emit_event("FaultInjected", f"{fault.name}: {fault.action} of {affected}")
    for observation in entry.observations:
        if observation.kind is ObservationKind.EVICTION_REFUSED:
            detail = f"{fault.name}: {observation.subject}: {observation.detail}"
            ctx.emit_event("EvictionRefused", detail)
    if ACTIONS[fault.action].is_lasting(fault):
        ctx.record(journal.fault(fault.name, state=FaultState.ACTIVE))
        ctx.wake(POLL)
    else:
        ctx.record(journal.fault(fault.name, state=FaultState.REVERTED, reverted_at=at, message=""))
    ctx.observe_effect(fault)


def _missed_all(ctx: InjectionContext, fault: Fault, entry: FaultStatus) -> bool:
    """Whether nothing that was to inject the fault reported that it did."""
    reports = ACTIONS[fault.action].outcome(ctx.fault_context(fault)) is not None
    return reports and not shows_injection(fault, entry)


def _active(ctx: InjectionContext, fault: Fault, entry: FaultStatus) -> None:
    ctx.observe_effect(fault)
    hold = ACTIONS[fault.action].hold(ctx.fault_context(fault))
    ctx.side_effects += hold.side_effects
    ctx.desired += hold.apply
    due = hold.due or ACTIONS[fault.action].revert_due(fault, entry)
    if hold.reverted_at is None:
        if due is not None:
            ctx.wake((due - ctx.now).total_seconds() if ctx.now < due else POLL)
        return
    due = due or hold.reverted_at
    if schedule.is_late(due, hold.reverted_at):
        ctx.add_interruption(fault, "reverted", due, hold.reverted_at)
    if hold.revert_error:
        ctx.add_inconclusive_reason(
            "RevertFailed", f"fault {fault.name}: {hold.revert_error}", fault=fault.name
        )
    if hold.incomplete:
        ctx.add_inconclusive_reason(
            FAULT_NOT_VERIFIED, f"fault {fault.name}: {hold.incomplete}", fault=fault.name
        )
    reverted = journal.fault(
        fault.name, state=FaultState.REVERTED, reverted_at=hold.reverted_at, message=""
    )
    ctx.record(reverted)
    pods = ", ".join(target.pod for target in entry.targets)
    ctx.emit_event("FaultReverted", f"{fault.name}: reverted for {pods}")


def _skip(ctx: InjectionContext, fault: Fault, reason: str) -> None:
    message = cut(reason)
    ctx.record(journal.fault(fault.name, state=FaultState.SKIPPED, message=message))
    ctx.add_inconclusive_reason(
        FAULT_NOT_VERIFIED, f"fault {fault.name}: not injected: {message}", fault=fault.name
    )
    ctx.emit_event("FaultSkipped", f"{fault.name}: {message}", warning=True)


def _finish(ctx: InjectionContext) -> Progress:
    ended = [ctx.entry(fault) for fault in ctx.run.spec.faults]
    last = max((fault.recovered_at for fault in ended if fault.recovered_at), default=None)
    if last is not None and ctx.now < last + AFTERMATH:
        ctx.wake((last + AFTERMATH - ctx.now).total_seconds())
        return ctx.progress()
    skipped = [fault.name for fault in ended if fault.state is FaultState.SKIPPED]
    missed = [
        fault.name for fault in ctx.run.spec.faults if not shows_injection(fault, ctx.entry(fault))
    ]
    unrecovered = [
        fault for fault in ended if fault.reverted_at is not None and fault.recovered_at is None
    ]
    for entry in ended:
        verified = bool(entry.verified)
        reported = any(
            reason.code == FAULT_NOT_VERIFIED and reason.fault == entry.name
            for reason in ctx.status.inconclusive_reasons
        )
        if not verified and not reported:
            ctx.add_inconclusive_reason(
                FAULT_NOT_VERIFIED,
                f"fault {entry.name}: its effect was not observed",
                fault=entry.name,
            )
    ctx.set_condition(
        ConditionType.FAULTS_INJECTED,
        ConditionStatus.FALSE if missed else ConditionStatus.TRUE,
        "FaultSkipped" if skipped else FAULT_NOT_VERIFIED if missed else "AllInjected",
        f"not injected: {', '.join(missed)}" if missed else f"{len(ended)} injected and reverted",
    )
    if not unrecovered:
        ctx.set_condition(
            ConditionType.RECOVERED,
            ConditionStatus.TRUE,
            "FullyReplicated",
            "after every revert all replicas were in sync again and all groups had caught up",
        )
    return ctx.progress(Phase.DRAINING)
