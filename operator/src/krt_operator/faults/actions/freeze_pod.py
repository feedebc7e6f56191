"""FreezePod: SIGSTOP to the process under test, and SIGCONT when its time is over.

The thawing container is started before the freezing one. It waits beside the process until that is
stopped, then for `duration`, then continues it: the time frozen is exact to a tenth of a second, and
a process is thawed whatever becomes of the controller.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator.api.spec import Action
from krt_operator.api.status import ObservationKind
from krt_operator.engine.progress import Deletion, SideEffect
from krt_operator.faults import ephemeral
from krt_operator.faults.action import Hold, standing
from krt_operator.faults.schedule import revert_due

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus, TargetPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed
    from krt_operator.engine.views import Json
    from krt_operator.faults.action import Outcome, Scene

OVERDUE: Final = timedelta(seconds=3)
"""Beyond the end of the freeze until a second thaw is tried: reports take 1 to 2 s to be seen."""

HOPELESS: Final = timedelta(seconds=30)
"""Beyond the end of the freeze until a target that nothing thaws is deleted."""


def freezing(fault: str, attempt: int) -> str:
    """The ephemeral container that stops the process."""
    return f"krt-freeze-{fault}-{attempt}"


def thawing(fault: str, attempt: int) -> str:
    """The ephemeral container that continues it when the time is over."""
    return f"krt-thaw-{fault}-{attempt}"


def thawing_now(fault: str) -> str:
    """The ephemeral container that continues it at once."""
    return f"krt-thaw-{fault}-now"


def act(scene: Scene) -> SideEffect:
    """Start the thawing, then the freezing container in every target that is still there."""
    entry, pods = scene.entry, scene.pods
    seconds = f"{scene.fault.duration.seconds:.3f}"
    stop = ephemeral.Signal(freezing(entry.name, entry.attempt), "STOP")
    thaw = ephemeral.Signal(thawing(entry.name, entry.attempt), "CONT", (seconds,))

    def perform(ports: Ports) -> Sequence[Change]:
        for target in entry.targets:
            ephemeral.start(ports, pods, target, thaw)
            ephemeral.start(ports, pods, target, stop)
        return []

    return SideEffect(
        f"freeze the process of {', '.join(one.pod for one in entry.targets)}", perform
    )


def outcome(scene: Scene) -> Outcome:
    """What the freezing containers of all attempts so far report."""
    return ephemeral.outcome(
        scene.entry, scene.pods, freezing, ObservationKind.PROCESS_STOPPED, "SIGSTOP, in state T"
    )


def hold(scene: Scene) -> Hold:
    """Wait for the reports of the thaw; try again, then delete what nothing thaws."""
    entry = scene.entry
    due = revert_due(scene.fault, entry) or scene.now
    frozen = still_frozen(entry, scene.world)
    if not frozen:
        return Hold(reverted_at=thawed_at(entry, scene.world) or scene.now)
    if scene.now < due + OVERDUE:
        return Hold()
    if scene.now < due + HOPELESS:
        return Hold(acts=(thaw(entry, frozen, scene.world),))
    named = ", ".join(one.pod for one in frozen)
    return Hold(
        reverted_at=scene.now,
        acts=(_delete(frozen),),
        doubt=f"{named}: nothing thawed the process within {HOPELESS.seconds} s, so the pod was "
        "deleted; look at the node",
    )


def still_frozen(entry: FaultStatus, world: Observed) -> list[TargetPod]:
    """Targets that are there and have not been reported thawed."""
    return [
        target
        for target in entry.targets
        if (pod := standing(world.pods, target)) and _thawed(entry, pod) is None
    ]


def thawed_at(entry: FaultStatus, world: Observed) -> datetime | None:
    """When the last target was thawed, by its node's clock; None where none was."""
    pods = [standing(world.pods, one) for one in entry.targets]
    times = [_thawed(entry, pod) for pod in pods if pod]
    return max((at for at in times if at is not None), default=None)


def open_freezes(faults: Sequence[Fault], status: Sequence[FaultStatus]) -> list[FaultStatus]:
    """Journals of the freezes that may hold a process now, an intent included."""
    names = {one.name for one in faults if one.action is Action.FREEZE_POD}
    return [one for one in status if one.name in names and one.state.open]


def thaw(entry: FaultStatus, targets: Sequence[TargetPod], world: Observed) -> SideEffect:
    """Continue the processes of these targets now."""
    signal = ephemeral.Signal(thawing_now(entry.name), "CONT")

    def perform(ports: Ports) -> Sequence[Change]:
        for target in targets:
            ephemeral.start(ports, world.pods, target, signal)
        return []

    return SideEffect(f"thaw the process of {', '.join(one.pod for one in targets)}", perform)


def _delete(targets: Sequence[TargetPod]) -> SideEffect:
    def perform(ports: Ports) -> Sequence[Change]:
        for target in targets:
            ports.cluster.delete(Deletion("Pod", target.pod, target.uid, grace_seconds=0))
        return []

    return SideEffect(
        f"delete {', '.join(one.pod for one in targets)}, which nothing thaws", perform
    )


def _thawed(entry: FaultStatus, pod: Json) -> datetime | None:
    names = [thawing(entry.name, number) for number in range(1, entry.attempt + 1)]
    reports = [ephemeral.report(pod, name) for name in (*names, thawing_now(entry.name))]
    return min((one.at for one in reports if one is not None and one.at is not None), default=None)
