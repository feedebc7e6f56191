"""What a fault action is: the base class of those in `krt_operator.faults.actions`.

To add an action, write one module with one subclass of `FaultAction`, add it to
`krt_operator.faults.registry`, and state in the contract's table of observations which of them
verify it. docs/development/adding-a-fault.md shows this by an example.

The controller drives every action through the same states:

    Pending     the fault waits until it is due; then its targets are chosen, and `resolve` adds
                what the journal must hold of them
    Scheduled   the journal names the targets; `act` is carried out, and repeated until the journal
                or `outcome` shows that it was done
    Injected    for one pass: `is_lasting` decides between the next two states
    Active      `hold` is called in every pass; it calls `revert` when the fault is over
    Reverted    the phase waits for the cluster's recovery

An action decides and returns; the engine carries out. A controller may be killed before any step,
and the next one continues from the journal. So each side effect must be idempotent: it uses a uid
as precondition, or a name that is derived from the journal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus, Observation, TargetPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed, SideEffect
    from krt_operator.engine.views import Json
    from krt_operator.kafka.views import ClusterView

FAULT_NOT_VERIFIED: Final = "FaultNotVerified"
"""Inconclusive reason of a fault that was not injected, or whose effect was not observed."""

OUTCOME_TIMEOUT: Final = timedelta(seconds=30)
"""How long a side effect may take before the fault goes on without verification. A container whose
image is on the node starts within a second, unless the node does not respond."""


class UnresolvedTargetError(Exception):
    """No pod fits the target now; the message is a sentence that says why."""


@dataclass(frozen=True, slots=True)
class FaultContext:
    """One fault in one pass.

    Attributes:
        plan: the run's plan.
        fault: the fault as the resource describes it.
        entry: the fault's entry in the journal, with what this pass has decided.
        observed: the run's objects as they were listed for this pass.
        ports: the API server, the clock and Kafka.
        now: the time of this pass.
        unavailable: members that open faults keep down or frozen.
        stateful_sets_after: the StatefulSets to apply once a change is in the journal, so that the
            members that it keeps down are scaled to 0 at once.
        view: reads the cluster's metadata; None where no broker answers, or where another fault is
            so close that no answer may be waited for.
    """

    plan: Plan
    fault: Fault
    entry: FaultStatus
    observed: Observed
    ports: Ports
    now: datetime
    unavailable: frozenset[str]
    stateful_sets_after: Callable[[Change], Sequence[Json]]
    view: Callable[[], ClusterView | None]

    @property
    def pods(self) -> Mapping[str, Json]:
        """The run's pods by name."""
        return self.observed.pods


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a side effect that a container or a Job carries out.

    Attributes:
        requested: whether every container or Job exists; if not, the side effect is repeated.
        pending: pods or Jobs that have not reported yet.
        observations: one for each target on which it succeeded.
        failures: pod or Job to the error it reported.
        lost: pods that are gone without a report.
        timeout: how long a report may take.
        final: whether another attempt at the failures is known to fail as well.
    """

    requested: bool = True
    pending: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    timeout: timedelta = OUTCOME_TIMEOUT
    final: bool = False

    @property
    def first_at(self) -> datetime | None:
        """When the first target was hit, by the clock of its node."""
        return min((observation.at for observation in self.observations), default=None)


@dataclass(frozen=True, slots=True)
class Hold:
    """What an active fault needs in this pass.

    Attributes:
        reverted_at: when the targets were allowed to run again; None while the fault is active.
        side_effects: side effects to carry out.
        apply: objects to apply.
        revert_error: why the revert failed, as a sentence; it makes the run inconclusive.
        incomplete: why a part of the fault was left out, as a sentence.
        due: when the revert was due, where that is not `FaultAction.revert_due`.
    """

    reverted_at: datetime | None = None
    side_effects: tuple[SideEffect, ...] = ()
    apply: tuple[Json, ...] = ()
    revert_error: str = ""
    incomplete: str = ""
    due: datetime | None = None


class FaultAction(ABC):
    """A fault action. `act` is required; the other methods have defaults for an action on pods.

    The kinds of observation that verify an action are in the contract, because the scoring job
    needs them too: see `krt_operator.faults.verification`.
    """

    hits_all: ClassVar[bool] = False
    """Whether every candidate is hit where the target sets neither `count` nor `ordinals`."""

    reverts_itself: ClassVar[bool] = False
    """Whether an active fault ends on time without the controller."""

    ends_after_duration: ClassVar[bool] = True
    """Whether the fault ends `duration` after its injection, and not when its work is done."""

    runs_in_job: ClassVar[bool] = False
    """Whether `act` creates a Job. A Job takes seconds to start, so the fault was injected in time
    if the Job was created in time."""

    def validate(self, fault: Fault, plan: Plan) -> None:
        """Refuse a fault that this cluster can never carry out, before anything is built.

        What the resource alone shows is refused by the CRD's rules and does not belong here.

        Raises:
            UserError: names the field and the remedy.
        """
        del fault, plan

    def resolve(
        self, targets: tuple[TargetPod, ...], plan: Plan, observed: Observed
    ) -> tuple[TargetPod, ...]:
        """Complete the chosen targets with what the journal must hold of them.

        Raises:
            UnresolvedTargetError: something that is needed does not exist now.
        """
        del plan, observed
        return targets

    @abstractmethod
    def act(self, ctx: FaultContext) -> SideEffect:
        """The side effect that injects the fault.

        It is repeated while the fault is Scheduled. Where `outcome` returns None, it must journal
        state, time and observations itself.
        """

    def outcome(self, ctx: FaultContext) -> Outcome | None:
        """What the containers or the Job of `act` report; None where `act` journals the result."""
        del ctx
        return None

    def is_lasting(self, fault: Fault) -> bool:
        """Whether the fault stays active after `act`."""
        return fault.duration.micros > 0

    def keeps_down(self, fault: Fault) -> bool:
        """Whether the targets have no pod while the fault is active."""
        del fault
        return False

    def makes_unavailable(self, fault: Fault) -> bool:
        """Whether the targets do not respond while the fault is active."""
        return self.keeps_down(fault)

    def keeps_pod(self, fault: Fault, *, is_member: bool) -> bool:
        """Whether a target that recovers is the same pod, with the same uid.

        Args:
            fault: the fault as the resource describes it.
            is_member: whether the target is a broker, ZooKeeper server or KRaft controller.
        """
        del fault, is_member
        return False

    def ends_silently(self, fault: Fault, session: timedelta) -> bool:
        """Whether a target may stop without telling ZooKeeper or the KRaft controllers.

        Kafka then takes a broker for alive until its session has expired.

        Args:
            fault: the fault as the resource describes it.
            session: how long a silent broker counts as alive.
        """
        del fault, session
        return False

    def moved_partitions(self, fault: Fault, plan: Plan) -> Sequence[tuple[str, int]]:
        """Topic and number of the partitions that the fault gives other replicas."""
        del fault, plan
        return ()

    def hold(self, ctx: FaultContext) -> Hold:
        """What an active fault needs now; by default nothing until the revert is due."""
        due = self.revert_due(ctx.fault, ctx.entry) or ctx.now
        return Hold() if ctx.now < due else self.revert(ctx)

    def revert(self, ctx: FaultContext) -> Hold:
        """End the fault; by default the members that it kept down are simply started again."""
        return Hold(reverted_at=ctx.now)

    def find_interference(self, ctx: FaultContext) -> tuple[str, ...]:
        """What else happened to the targets until the recovery, so that it was another fault.

        Each is a sentence that makes the run inconclusive.
        """
        del ctx
        return ()

    def revert_due(self, fault: Fault, entry: FaultStatus) -> datetime | None:
        """When the fault is to be reverted; None before its injection or where no time is set."""
        return None if entry.injected_at is None else entry.injected_at + fault.duration.delta


def pod_names(targets: Sequence[TargetPod]) -> str:
    """The targets' pods as one string, for messages."""
    return ", ".join(target.pod for target in targets)


def keep_down(ctx: FaultContext, injected: Change, ports: Ports) -> None:
    """Scale the targets' StatefulSets to 0 together with the injection, where the fault lasts.

    Without this, new pods would be scheduled within 0.1 s.

    Args:
        ctx: the fault that is being injected.
        injected: the change that its side effect is about to journal.
        ports: where the StatefulSets are applied.
    """
    if ctx.fault.duration.micros:
        for obj in ctx.stateful_sets_after(injected):
            ports.cluster.apply(obj)
