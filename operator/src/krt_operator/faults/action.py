"""What an action is to the phase that injects faults: how it is done, what came of it, its hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from krt_operator.faults.hold import held
from krt_operator.faults.schedule import revert_due

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from krt_operator.api.spec import Fault
    from krt_operator.api.status import (
        FaultStatus,
        Observation,
        Status,
        TargetPod,
    )
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed, Run, SideEffect
    from krt_operator.engine.views import Json
    from krt_operator.kafka.views import ClusterView
    from krt_operator.plan.plan import Plan

PATIENCE: Final = timedelta(seconds=30)
"""How long what does a fault may take before the fault goes on without proof: an image that is on
the node starts within a second unless the node does not answer."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One fault in one pass.

    Attributes:
        status: the journal with everything this pass has decided.
        entry: the fault's journal in it.
        render: what must be applied for these members to be held down and no others.
        view: asks Kafka for its metadata; None where nobody answers, or another fault's deed is
            so near that no answer may be waited for.
    """

    run: Run
    plan: Plan
    status: Status
    fault: Fault
    entry: FaultStatus
    world: Observed
    ports: Ports
    now: datetime
    render: Callable[[frozenset[str]], Sequence[Json]]
    view: Callable[[], ClusterView | None]

    @property
    def pods(self) -> Mapping[str, Json]:
        """The run's pods by name."""
        return self.world.pods


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an act that others carry out (a container, a Job) has come to.

    Attributes:
        asked: whether they were all asked for; if not, the act is to be repeated.
        pending: whom they have not answered for.
        observations: one for each it was done to.
        failures: to whom it was not done, and why.
        lost: pods that are gone without an answer.
        patience: how long an answer may take.
    """

    asked: bool = True
    pending: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    patience: timedelta = PATIENCE

    @property
    def first(self) -> datetime | None:
        """When it was first done, by the clock of the pod's node."""
        return min((proof.at for proof in self.observations), default=None)


@dataclass(frozen=True, slots=True)
class Hold:
    """What a fault that is held needs in this pass.

    Attributes:
        reverted_at: when the targets were let back; None while they are held.
        doubt: why the revert did not go as it should, a sentence; the run's coverage is in doubt.
        cut_short: why not all of the fault was done, a sentence.
        due: when `reverted_at` was due, where that is not `duration` after the injection.
    """

    reverted_at: datetime | None = None
    acts: tuple[SideEffect, ...] = ()
    apply: tuple[Json, ...] = ()
    doubt: str = ""
    cut_short: str = ""
    due: datetime | None = None


class Deed(Protocol):
    """An action, as its module gives it."""

    def act(self, scene: Scene) -> SideEffect:
        """The deed itself: repeatable, by uid or by a name from the journal."""
        ...

    def outcome(self, scene: Scene) -> Outcome | None:
        """What came of it; None where the act itself journals that it is done."""
        ...

    def hold(self, scene: Scene) -> Hold:
        """What holding the targets, and letting them back, takes now."""
        ...


def standing(pods: Mapping[str, Json], target: TargetPod) -> Json | None:
    """The pod that was chosen; None where it is gone, whoever has its name by now."""
    pod = pods.get(target.pod)
    return pod if pod is not None and pod["metadata"]["uid"] == target.uid else None


def journaled(scene: Scene) -> None:
    """The outcome of a deed whose act journals itself what came of it."""


def hold_down(scene: Scene, injected: Change, ports: Ports) -> None:
    """Hold the targets of a deed down in the same breath, where `duration` is not over with it.

    Their StatefulSets would have new pods scheduled within 0.1 s.

    Args:
        scene: the fault that is being injected.
        injected: what its act is about to journal.
        ports: where the holds are applied.
    """
    if scene.fault.duration.micros:
        for obj in scene.render(held(injected(scene.status), scene.run.spec)):
            ports.cluster.apply(obj)


def until_due(scene: Scene) -> Hold:
    """The hold that the journal alone makes: over when `duration` is."""
    due = revert_due(scene.fault, scene.entry) or scene.now
    return Hold(reverted_at=None if scene.now < due else scene.now)
