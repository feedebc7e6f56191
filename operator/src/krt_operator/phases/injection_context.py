"""The context of one pass of Injecting: what was read and what has been decided so far."""

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
from krt_operator.engine.progress import Change, Event, Observed, Progress, Run, SideEffect
from krt_operator.errors import TransientError
from krt_operator.faults import observations, schedule
from krt_operator.faults.action import FaultContext
from krt_operator.faults.hold import stateful_sets_to_scale, unavailable_members
from krt_operator.faults.kafka_state import group_of
from krt_operator.faults.registry import ACTIONS
from krt_operator.faults.verification import verify
from krt_operator.health.quorum import with_quorum

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Fault
    from krt_operator.api.status import ConditionStatus, ConditionType, Observation
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.views import Json
    from krt_operator.kafka.views import ClusterView, GroupView

WATCH: Final = 1.0
"""Seconds between passes while a fault is open: short compared with any session timeout."""

QUIET: Final = timedelta(seconds=6)
"""How far ahead the next injection or revert must be for Kafka to be asked what can wait: a cluster
that fails over answers late, and no request may delay a fault or a revert."""


@dataclass
class InjectionContext:
    """What the steps of all faults share in one pass, and where they record their decisions.

    Attributes:
        status: the journal with every decision of the pass, so that the step of one fault sees
            what the step of an earlier one chose.
        since: when Injecting began.
        recovery: how long the cluster may take to recover after a revert.
    """

    run: Run
    observed: Observed
    ports: Ports
    plan: Plan
    now: datetime
    since: datetime
    recovery: timedelta
    status: Status
    intents: list[Change] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    desired: list[Json] = field(default_factory=list)
    side_effects: list[SideEffect] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    requeue: float = WATCH
    _view: ClusterView | None = None
    _asked: bool = False

    @classmethod
    def begin(cls, run: Run, observed: Observed, ports: Ports) -> InjectionContext:
        """Start a pass from what was read.

        Raises:
            RuntimeError: the run has no plan, which Pending writes before anything is built.
        """
        if run.plan is None:
            raise RuntimeError(f"{run.namespace}/{run.name} is in Injecting without a plan")
        now = ports.clock.now()
        return cls(
            run=run,
            observed=observed,
            ports=ports,
            plan=run.plan,
            now=now,
            since=journal.started(run.status, Phase.INJECTING) or now,
            recovery=run.spec.timeouts.recovery.delta,
            status=run.status,
        )

    @property
    def journal(self) -> dict[str, FaultStatus]:
        """The journal of each fault by name, with the decisions of the pass."""
        return {fault.name: fault for fault in self.status.faults}

    def entry(self, fault: Fault) -> FaultStatus:
        """The journal of a fault, with the decisions of the pass."""
        return schedule.find_entry(self.journal, fault)

    def absent(self) -> frozenset[str]:
        """Members that open faults keep from taking part, by the decisions of the pass."""
        return unavailable_members(self.status, self.run.spec)

    def fault_context(self, fault: Fault) -> FaultContext:
        """What the action of the fault is given in the pass."""
        status = self.status
        return FaultContext(
            plan=self.plan,
            fault=fault,
            entry=self.entry(fault),
            observed=self.observed,
            ports=self.ports,
            now=self.now,
            unavailable=self.absent(),
            stateful_sets_after=lambda change: self.stateful_sets(change(status)),
            view=lambda: self.view() if self.quiet() else None,
        )

    def quiet(self) -> bool:
        """Whether no fault is to be injected or reverted soon."""
        dues = (self._next_change(fault) for fault in self.run.spec.faults)
        return all(due is None or due - self.now > QUIET for due in dues)

    def _next_change(self, fault: Fault) -> datetime | None:
        entry = self.entry(fault)
        match entry.state:
            case FaultState.PENDING:
                return schedule.due_at(fault, self.journal, self.since)
            case FaultState.SCHEDULED | FaultState.INJECTED:
                return self.now
            case FaultState.ACTIVE:
                # A frozen process is continued by a container on its node, not by the controller.
                action = ACTIONS[fault.action]
                return None if action.reverts_itself else action.revert_due(fault, entry)
            case FaultState.REVERTED | FaultState.SKIPPED:
                return None

    def record_intent(self, change: Change) -> None:
        """Write the change before anything else of the pass is done."""
        self.intents.append(change)
        self.status = change(self.status)

    def record(self, change: Change) -> None:
        """Write the change after everything else of the pass is done."""
        self.changes.append(change)
        self.status = change(self.status)

    def wake(self, seconds: float) -> None:
        """Start the next pass in at most so many seconds."""
        self.requeue = max(0.0, min(self.requeue, seconds))

    def emit_event(self, reason: str, message: str, *, warning: bool = False) -> None:
        """Emit a Kubernetes event at the end of the pass."""
        self.events.append(Event(reason, message, warning=warning))

    def add_inconclusive_reason(self, code: str, message: str, *, fault: str) -> None:
        """Record that the run does not cover what the resource asks for of a fault."""
        self.record(
            journal.add_inconclusive_reason(
                code, InconclusiveReasonKind.COVERAGE, message, self.now, fault=fault
            )
        )

    def add_interruption(self, fault: Fault, step: str, due: datetime, at: datetime) -> None:
        """Record that the controller did not run when a step of the fault was due."""
        delay = (at - due).total_seconds()
        self.add_inconclusive_reason(
            "OperatorInterrupted",
            f"fault {fault.name} was {step} {delay:.1f} s late (limit "
            f"{schedule.LATE_AFTER.seconds} s): "
            "the controller did not run or was too slow; run the test again",
            fault=fault.name,
        )

    def set_condition(
        self, type_: ConditionType, status: ConditionStatus, reason: str, message: str
    ) -> None:
        """Set a condition."""
        self.record(journal.set_condition(type_, status, reason, message, at=self.now))

    @property
    def bootstrap(self) -> str:
        """The bootstrap servers, without brokers that cannot answer."""
        return self.plan.bootstrap_but(self.absent())

    def view(self) -> ClusterView | None:
        """The cluster's metadata, requested once per pass; None where no broker answers."""
        if not self._asked:
            self._asked = True
            try:
                with self.ports.connect(self.plan, self.bootstrap) as kafka:
                    self._view = with_quorum(kafka.view(), self.plan, self.ports, self.absent())
            except TransientError:
                self._view = None
        return self._view

    def observe_effect(self, fault: Fault) -> None:
        """Add the effect of the fault that can be observed now to its journal."""
        entry = self.entry(fault)
        found = observations.observe_objects(fault, entry, self.observed, self.now)
        if self.quiet():
            view = self.view() if observations.needs_cluster(fault, entry, self.plan) else None
            if view is not None:
                found += observations.observe_cluster(fault, entry, self.plan, view, self.now)
                found += observations.observe_partitions(fault, self.plan, view, self.now)
                found += self._coordinator(fault, entry)
            for group in observations.needs_groups(entry, self.plan):
                found += self._left(entry, group)
        verification = verify(fault, entry, self.plan, found)
        if (verification.verified, verification.observations) != (
            entry.verified,
            entry.observations,
        ):
            self.record(journal.fault(fault.name, **vars(verification)))

    def stateful_sets(self, status: Status) -> list[Json]:
        """The StatefulSets to apply where this is the journal."""
        return stateful_sets_to_scale(
            self.plan, status, self.observed, self.ports.settings.image_pull_policy
        )

    def progress(self, next_phase: Phase | None = None) -> Progress:
        """Everything decided, with the StatefulSets of members; keepalive takes care of traffic."""
        return Progress(
            requeue_after=self.requeue,
            next_phase=next_phase,
            intents=tuple(self.intents),
            changes=tuple(self.changes),
            apply=(*self.desired, *self.stateful_sets(self.status)),
            side_effects=tuple(self.side_effects),
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
            with self.ports.connect(self.plan, self.bootstrap) as kafka:
                return kafka.group(name)
        except TransientError:
            return None
