"""Injecting: one fault after another, or several at once, as the schedule says.

Each fault goes Pending, Scheduled, Injected, Active, Reverted (or Skipped) and every step is decided
from the journal alone, so a controller killed anywhere goes on where it was. The intent, with pod
names and uids, is in the journal before anything is done; what is done is named by it.
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
from krt_operator.errors import TransientError
from krt_operator.faults import schedule
from krt_operator.faults.action import UnresolvedTargetError
from krt_operator.faults.hold import members_under_fault
from krt_operator.faults.kafka_state import read_kafka_state
from krt_operator.faults.registry import ACTIONS
from krt_operator.faults.targets import resolve_targets
from krt_operator.faults.verification import target_names, verify
from krt_operator.phases.injection_context import Pass
from krt_operator.phases.recovering import recovering

if TYPE_CHECKING:
    from krt_operator.api.spec import Fault
    from krt_operator.engine.ports import (
        Observed,
        Ports,
        Progress,
        Run,
    )

POLL: Final = 0.2
"""Seconds between looks at an act under way: kubelet reports a container's end within 1 to 2 s."""

RETRY: Final = 0.5
"""Seconds between tries to name a target that is not there, such as a leader in an election."""

AFTERMATH: Final = timedelta(seconds=5)
"""Undisturbed traffic after the last recovery, so that `after` has operations to compare with."""


def step(run: Run, world: Observed, ports: Ports) -> Progress:
    """Take every fault one step further; when all are settled, on to Draining."""
    this = Pass.begin(run, world, ports)
    for fault in run.spec.faults:
        entry = this.entry(fault)
        match entry.state:
            case FaultState.PENDING:
                _pending(this, fault, entry)
            case FaultState.SCHEDULED:
                _intended(this, fault, entry)
            case FaultState.INJECTED:
                _injected(this, fault, entry)
            case FaultState.ACTIVE:
                _held(this, fault, entry)
            case FaultState.REVERTED:
                recovering(this, fault, entry)
            case FaultState.SKIPPED:
                pass
    if all(
        schedule.is_settled(this.entry(fault), this.recovery, this.now) for fault in run.spec.faults
    ):
        return _settled(this)
    return this.progress()


def _pending(this: Pass, fault: Fault, entry: FaultStatus) -> None:
    never = schedule.why_never_due(fault, this.journal, this.recovery, this.now)
    if never:
        _skip(this, fault, never)
        return
    due = schedule.due_at(fault, this.journal, this.since)
    if due is None:
        return
    if this.now < due:
        this.wake((due - this.now).total_seconds())
        return
    # A due time in the journal says that a controller was there and found nobody to hit.
    tried = entry.due_at is not None
    try:
        seen = read_kafka_state(fault.target, this.plan, this.ports, this.absent())
        targets = resolve_targets(
            fault, this.plan, this.world, seen, members_under_fault(this.status, fault.name)
        )
    except (UnresolvedTargetError, TransientError) as error:
        if tried and schedule.is_late(due, this.now):
            _skip(this, fault, f"nobody to hit within {schedule.LATE_AFTER.seconds} s: {error}")
        else:
            this.note(journal.fault(fault.name, due_at=due, message=journal.cut(str(error))))
            this.wake(RETRY)
        return
    this.intend(
        journal.fault(
            fault.name,
            state=FaultState.SCHEDULED,
            targets=targets,
            due_at=due,
            scheduled_at=this.now,
            attempt=1,
            message="",
        )
    )
    _act(this, fault)


def _act(this: Pass, fault: Fault) -> None:
    this.acts.append(ACTIONS[fault.action].act(this.scene(fault)))
    this.wake(POLL)


def _intended(this: Pass, fault: Fault, entry: FaultStatus) -> None:
    result = ACTIONS[fault.action].outcome(this.scene(fault))
    if result is None:
        _act(this, fault)
        return
    since = entry.scheduled_at or this.now
    if result.pending and this.now - since <= result.timeout:
        if not result.requested:
            _act(this, fault)
        this.wake(POLL)
        return
    due = entry.due_at or since
    if result.failures and not schedule.is_late(due, this.now):
        this.intend(journal.fault(fault.name, attempt=entry.attempt + 1))
        _act(this, fault)
        return
    why = [f"{subject}: {said}" for subject, said in sorted(result.failures.items())]
    why += [f"{subject}: no answer within {result.timeout.seconds} s" for subject in result.pending]
    why += [f"{pod}: gone before it was done" for pod in result.lost]
    this.intend(
        journal.fault(
            fault.name,
            state=FaultState.INJECTED,
            injected_at=result.first_at or since,
            **vars(verify(fault, entry, this.plan, result.observations)),
        )
    )
    if why:
        this.doubt("FaultNotVerified", f"fault {fault.name}: {'; '.join(why)}")
    _injected(this, fault, this.entry(fault))


def _injected(this: Pass, fault: Fault, entry: FaultStatus) -> None:
    at = entry.injected_at or this.now
    due = entry.due_at or at
    # A tool in a Job takes its seconds to start; the controller was in time when it asked for it.
    done = entry.scheduled_at or at if ACTIONS[fault.action].runs_in_job else at
    if schedule.is_late(due, done):
        this.interrupted(fault, "injected", due, done)
    hit = ", ".join(target_names(fault, entry, this.plan))
    this.tell("FaultInjected", f"{fault.name}: {fault.action} of {hit}")
    for one in entry.observations:
        if one.kind is ObservationKind.EVICTION_REFUSED:
            this.tell("EvictionRefused", f"{fault.name}: {one.subject}: {one.detail}")
    if ACTIONS[fault.action].is_lasting(fault):
        this.note(journal.fault(fault.name, state=FaultState.ACTIVE))
        this.wake(POLL)
    else:
        this.note(journal.fault(fault.name, state=FaultState.REVERTED, reverted_at=at, message=""))
    this.prove(fault)


def _held(this: Pass, fault: Fault, entry: FaultStatus) -> None:
    this.prove(fault)
    now = ACTIONS[fault.action].hold(this.scene(fault))
    this.acts += now.acts
    this.wanted += now.apply
    due = now.due or ACTIONS[fault.action].revert_due(fault, entry)
    if now.reverted_at is None:
        if due is not None:
            this.wake((due - this.now).total_seconds() if this.now < due else POLL)
        return
    due = due or now.reverted_at
    if schedule.is_late(due, now.reverted_at):
        this.interrupted(fault, "reverted", due, now.reverted_at)
    if now.revert_error:
        this.doubt("HealFailed", f"fault {fault.name}: {now.revert_error}")
    if now.incomplete:
        this.doubt("FaultNotVerified", f"fault {fault.name}: {now.incomplete}")
    reverted = journal.fault(
        fault.name, state=FaultState.REVERTED, reverted_at=now.reverted_at, message=""
    )
    this.note(reverted)
    this.tell("FaultHealed", f"{fault.name}: {', '.join(one.pod for one in entry.targets)} back")


def _skip(this: Pass, fault: Fault, why: str) -> None:
    message = journal.cut(why)
    this.note(journal.fault(fault.name, state=FaultState.SKIPPED, message=message))
    this.doubt("FaultNotVerified", f"fault {fault.name}: not injected, {message}")
    this.tell("FaultSkipped", f"{fault.name}: {message}", warning=True)


def _settled(this: Pass) -> Progress:
    ended = [this.entry(fault) for fault in this.run.spec.faults]
    last = max((one.recovered_at for one in ended if one.recovered_at), default=None)
    if last is not None and this.now < last + AFTERMATH:
        this.wake((last + AFTERMATH - this.now).total_seconds())
        return this.progress()
    skipped = [one.name for one in ended if one.state is FaultState.SKIPPED]
    lasting = [one for one in ended if one.reverted_at is not None and one.recovered_at is None]
    for one in ended:
        verified = bool(one.verified)
        said = any(
            doubt.code == "FaultNotVerified" and doubt.message.startswith(f"fault {one.name}:")
            for doubt in this.status.inconclusive_reasons
        )
        if not verified and not said:
            this.doubt("FaultNotVerified", f"fault {one.name}: no effect was seen of it")
    this.say(
        ConditionType.FAULTS_INJECTED,
        ConditionStatus.FALSE if skipped else ConditionStatus.TRUE,
        "FaultSkipped" if skipped else "AllInjected",
        f"not injected: {', '.join(skipped)}" if skipped else f"{len(ended)} injected and reverted",
    )
    if not lasting:
        this.say(
            ConditionType.RECOVERED,
            ConditionStatus.TRUE,
            "FullyReplicated",
            "after every revert all partitions had all replicas in sync and groups caught up",
        )
    return this.progress(Phase.DRAINING)
