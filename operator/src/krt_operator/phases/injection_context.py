"""One pass of Injecting: what was read, what has been decided so far, what Kafka was asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from krt_operator.api.status import (
    FaultState,
    FaultStatus,
    InconclusiveReasonKind,
    Phase,
    Status,
)
from krt_operator.engine import journal
from krt_operator.engine.ports import (
    Act,
    Change,
    Happening,
    Json,
    Observed,
    Ports,
    Progress,
    Run,
)
from krt_operator.errors import TransientError
from krt_operator.faults import observations, schedule
from krt_operator.faults.action import FaultContext
from krt_operator.faults.hold import (
    members_kept_down,
    stateful_sets_to_scale,
    unavailable_members,
)
from krt_operator.faults.kafka_state import group_of
from krt_operator.faults.registry import ACTIONS
from krt_operator.faults.verification import verify

if TYPE_CHECKING:
    from krt_operator.api.spec import Fault
    from krt_operator.api.status import ConditionStatus, ConditionType, Observation
    from krt_operator.kafka.views import ClusterView, GroupView
    from krt_operator.plan.plan import Plan

WATCH: Final = 1.0
"""Seconds between passes while a fault is open: short against any session timeout."""


CALM: Final = timedelta(seconds=6)
"""How far the next deed must lie ahead for Kafka to be asked anything that can wait: a cluster
that is failing over answers late, and no look may make a fault or a revert late."""


@dataclass
class Pass:
    """What the steps of all faults of one pass share and add to.

    Attributes:
        status: the journal with everything this pass has decided, so that one fault's step sees
            what an earlier one chose.
        since: when Injecting began.
        recovery: how long the cluster may take to be whole again after a revert.
    """

    run: Run
    world: Observed
    ports: Ports
    plan: Plan
    now: datetime
    since: datetime
    recovery: timedelta
    status: Status
    intents: list[Change] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    wanted: list[Json] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    events: list[Happening] = field(default_factory=list)
    requeue: float = WATCH
    _view: ClusterView | None = None
    _asked: bool = False

    @classmethod
    def begin(cls, run: Run, world: Observed, ports: Ports) -> Pass:
        """Start from what was read.

        Raises:
            RuntimeError: the run has no plan, which Pending writes before anything is built.
        """
        if run.plan is None:
            raise RuntimeError(f"{run.namespace}/{run.name} is in Injecting without a plan")
        now = ports.clock.now()
        return cls(
            run=run,
            world=world,
            ports=ports,
            plan=run.plan,
            now=now,
            since=journal.started(run.status, Phase.INJECTING) or now,
            recovery=run.spec.timeouts.recovery.delta,
            status=run.status,
        )

    @property
    def journal(self) -> dict[str, FaultStatus]:
        """The faults' journals by name, with this pass' decisions."""
        return {one.name: one for one in self.status.faults}

    def entry(self, fault: Fault) -> FaultStatus:
        """A fault's journal, with this pass' decisions."""
        return schedule.find_entry(self.journal, fault)

    def held(self) -> frozenset[str]:
        """Members that must not run, by this pass' decisions."""
        return members_kept_down(self.status, self.run.spec)

    def absent(self) -> frozenset[str]:
        """Members that open faults keep from taking part, by this pass' decisions."""
        return unavailable_members(self.status, self.run.spec)

    def scene(self, fault: Fault) -> FaultContext:
        """What the fault's action sees in this pass."""
        status = self.status
        return FaultContext(
            plan=self.plan,
            fault=fault,
            entry=self.entry(fault),
            observed=self.world,
            ports=self.ports,
            now=self.now,
            unavailable=self.absent(),
            stateful_sets_after=lambda change: self.stateful_sets(
                members_kept_down(change(status), self.run.spec)
            ),
            view=lambda: self.view() if self.calm() else None,
        )

    def calm(self) -> bool:
        """Whether no fault is to be injected, held or reverted soon."""
        dues = (self._next_deed(fault) for fault in self.run.spec.faults)
        return all(due is None or due - self.now > CALM for due in dues)

    def _next_deed(self, fault: Fault) -> datetime | None:
        entry = self.entry(fault)
        match entry.state:
            case FaultState.PENDING:
                return schedule.due_at(fault, self.journal, self.since)
            case FaultState.SCHEDULED | FaultState.INJECTED:
                return self.now
            case FaultState.ACTIVE:
                # What is frozen goes on by its node's clock, whether or not anybody looks.
                action = ACTIONS[fault.action]
                return None if action.reverts_itself else action.revert_due(fault, entry)
            case FaultState.REVERTED | FaultState.SKIPPED:
                return None

    def intend(self, change: Change) -> None:
        """Write this before anything of this pass is done."""
        self.intents.append(change)
        self.status = change(self.status)

    def note(self, change: Change) -> None:
        """Write this after everything of this pass is done."""
        self.changes.append(change)
        self.status = change(self.status)

    def wake(self, seconds: float) -> None:
        """Come back in at most so many seconds."""
        self.requeue = max(0.0, min(self.requeue, seconds))

    def tell(self, reason: str, message: str, *, warning: bool = False) -> None:
        """An event for people."""
        self.events.append(Happening(reason, message, warning=warning))

    def doubt(self, code: str, message: str) -> None:
        """Raise a guard: something was not covered as the resource asked."""
        self.note(
            journal.add_inconclusive_reason(
                code, InconclusiveReasonKind.COVERAGE, message, self.now
            )
        )

    def interrupted(self, fault: Fault, what: str, due: datetime, at: datetime) -> None:
        """Raise the guard of a controller that was away when something was due."""
        by = (at - due).total_seconds()
        self.doubt(
            "OperatorInterrupted",
            f"fault {fault.name} was {what} {by:.1f} s late (more than "
            f"{schedule.LATE_AFTER.seconds} s): the controller was away or held up; run the test "
            "again",
        )

    def say(self, type_: ConditionType, status: ConditionStatus, reason: str, message: str) -> None:
        """Set a condition."""
        self.note(journal.say(type_, status, reason, message, at=self.now))

    @property
    def bootstrap(self) -> str:
        """The brokers that can be expected to answer."""
        return self.plan.bootstrap_but(self.absent())

    def view(self) -> ClusterView | None:
        """The cluster's metadata, asked once a pass; None where nobody answers."""
        if not self._asked:
            self._asked = True
            try:
                with self.ports.kafka(self.bootstrap) as kafka:
                    self._view = kafka.view()
            except TransientError:
                self._view = None
        return self._view

    def prove(self, fault: Fault) -> None:
        """Add to a fault's effect what can be seen of it now."""
        entry = self.entry(fault)
        seen = observations.observe_objects(fault, entry, self.world, self.now)
        if self.calm():
            view = self.view() if observations.needs_cluster(fault, entry, self.plan) else None
            if view is not None:
                seen += observations.observe_cluster(fault, entry, self.plan, view, self.now)
                seen += observations.observe_partitions(fault, self.plan, view, self.now)
                seen += self._coordinator(fault, entry)
            for group in observations.needs_groups(entry, self.plan):
                seen += self._left(entry, group)
        verification = verify(fault, entry, self.plan, seen)
        if (verification.verified, verification.observations) != (
            entry.verified,
            entry.observations,
        ):
            self.note(journal.fault(fault.name, **vars(verification)))

    def stateful_sets(self, down: frozenset[str]) -> list[Json]:
        """The StatefulSets to apply for exactly these members to be held down."""
        return stateful_sets_to_scale(
            self.plan, self.world, down, self.ports.settings.image_pull_policy
        )

    def progress(self, next_phase: Phase | None = None) -> Progress:
        """Everything decided, with what the holds ask for; traffic pods are the upkeep's."""
        return Progress(
            requeue_after=self.requeue,
            next_phase=next_phase,
            intents=tuple(self.intents),
            changes=tuple(self.changes),
            apply=(*self.wanted, *self.stateful_sets(self.held())),
            acts=tuple(self.acts),
            events=tuple(self.events),
        )

    def _coordinator(self, fault: Fault, entry: FaultStatus) -> list[Observation]:
        if not observations.targets_coordinator(fault):
            return []
        group = self._group(group_of(fault.target, self.plan))
        return (
            []
            if group is None
            else observations.observe_coordinator(fault, entry, self.plan, group, self.now)
        )

    def _left(self, entry: FaultStatus, name: str) -> list[Observation]:
        group = self._group(name)
        return (
            []
            if group is None
            else observations.observe_group_members(entry, self.plan, group, self.now)
        )

    def _group(self, name: str) -> GroupView | None:
        try:
            with self.ports.kafka(self.bootstrap) as kafka:
                return kafka.group(name)
        except TransientError:
            return None
