"""FreezePod: SIGSTOP to the process under test, and SIGCONT when the duration is over.

The thawing container is started before the freezing one. It waits until the process is stopped,
then for `duration`, then continues it. So the time frozen is exact to a tenth of a second, and the
process is thawed even if the controller is gone.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator.api.spec import Action
from krt_operator.api.status import ObservationKind
from krt_operator.engine.progress import Deletion, SideEffect
from krt_operator.faults import ephemeral
from krt_operator.faults.action import FaultAction, Hold, find_target_pod, pod_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus, TargetPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed
    from krt_operator.engine.views import Json
    from krt_operator.faults.action import FaultContext, Outcome

THAW_OVERDUE: Final = timedelta(seconds=3)
"""After the end of the freeze until a second thaw is tried: reports are visible after 1 to 2 s."""

THAW_TIMEOUT: Final = timedelta(seconds=30)
"""After the end of the freeze until a target that could not be thawed is deleted."""


PING: Final = timedelta(seconds=10)
"""The longest pause between pings of an idle ZooKeeper client, unless a third of the session is
shorter (ClientCnxn.MAX_SEND_PING_INTERVAL). The session runs from the last ping. In KRaft mode a
broker sends a heartbeat every 2 s (broker.heartbeat.interval.ms)."""


class FreezePod(FaultAction):
    """Stops the process from one ephemeral container and continues it from another."""

    reverts_itself = True

    def makes_unavailable(self, fault: Fault) -> bool:
        """A frozen process does not respond, although its pod stays."""
        del fault
        return True

    def keeps_pod(self, fault: Fault, *, is_member: bool) -> bool:
        """A thawed process goes on in its pod."""
        del fault, is_member
        return True

    def ends_silently(self, fault: Fault, session: timedelta) -> bool:
        """If it is frozen about as long as a session lasts from the last ping."""
        return fault.duration.delta + min(PING, session / 3) >= session

    def act(self, ctx: FaultContext) -> SideEffect:
        """Start the thawing, then the freezing container in every target that still exists."""
        entry, pods = ctx.entry, ctx.pods
        seconds = f"{ctx.fault.duration.seconds:.3f}"
        stop = ephemeral.Signal(freezing_container(entry.name, entry.attempt), "STOP")
        thaw = ephemeral.Signal(thawing_container(entry.name, entry.attempt), "CONT", (seconds,))

        def perform(ports: Ports) -> Sequence[Change]:
            for target in entry.targets:
                ephemeral.start_container(ports, pods, target, thaw)
                ephemeral.start_container(ports, pods, target, stop)
            return []

        return SideEffect(f"freeze the process of {pod_names(entry.targets)}", perform)

    def outcome(self, ctx: FaultContext) -> Outcome:
        """What the freezing containers of all attempts reported."""
        return ephemeral.read_outcome(
            ctx.entry,
            ctx.pods,
            freezing_container,
            ObservationKind.PROCESS_STOPPED,
            "SIGSTOP, in state T",
        )

    def hold(self, ctx: FaultContext) -> Hold:
        """Wait for the reports of the thawing containers, and step in when they are overdue."""
        frozen = still_frozen(ctx.entry, ctx.observed)
        if not frozen:
            return Hold(reverted_at=thawed_at(ctx.entry, ctx.observed) or ctx.now)
        due = self.revert_due(ctx.fault, ctx.entry) or ctx.now
        return Hold() if ctx.now < due + THAW_OVERDUE else self.revert(ctx)

    def revert(self, ctx: FaultContext) -> Hold:
        """Thaw once more; after `THAW_TIMEOUT`, delete the pods."""
        frozen = still_frozen(ctx.entry, ctx.observed)
        due = self.revert_due(ctx.fault, ctx.entry) or ctx.now
        if ctx.now < due + THAW_TIMEOUT:
            return Hold(side_effects=(thaw_now(ctx.entry, frozen, ctx.observed),))
        return Hold(
            reverted_at=ctx.now,
            side_effects=(_delete_pods(frozen),),
            revert_error=f"{pod_names(frozen)}: the process could not be thawed within "
            f"{THAW_TIMEOUT.seconds} s, so the pod was deleted; check the node",
        )


def freezing_container(fault: str, attempt: int) -> str:
    """The ephemeral container that stops the process."""
    return f"krt-freeze-{fault}-{attempt}"


def thawing_container(fault: str, attempt: int) -> str:
    """The ephemeral container that continues the process when the duration is over."""
    return f"krt-thaw-{fault}-{attempt}"


def immediate_thaw_container(fault: str) -> str:
    """The ephemeral container that continues the process at once."""
    return f"krt-thaw-{fault}-now"


def still_frozen(entry: FaultStatus, observed: Observed) -> list[TargetPod]:
    """Targets that exist and have not been reported as thawed."""
    return [
        target
        for target in entry.targets
        if (pod := find_target_pod(observed.pods, target)) and _thawed_at(entry, pod) is None
    ]


def thawed_at(entry: FaultStatus, observed: Observed) -> datetime | None:
    """When the last target was thawed, by its node's clock; None where none was."""
    pods = [find_target_pod(observed.pods, target) for target in entry.targets]
    times = [_thawed_at(entry, pod) for pod in pods if pod]
    return max((at for at in times if at is not None), default=None)


def open_freezes(faults: Sequence[Fault], entries: Sequence[FaultStatus]) -> list[FaultStatus]:
    """Entries of the freezes that may have stopped a process, including those only intended."""
    freezes = {fault.name for fault in faults if fault.action is Action.FREEZE_POD}
    return [entry for entry in entries if entry.name in freezes and entry.state.open]


def thaw_now(entry: FaultStatus, targets: Sequence[TargetPod], observed: Observed) -> SideEffect:
    """Continue the processes of these targets at once."""
    signal = ephemeral.Signal(immediate_thaw_container(entry.name), "CONT")

    def perform(ports: Ports) -> Sequence[Change]:
        for target in targets:
            ephemeral.start_container(ports, observed.pods, target, signal)
        return []

    return SideEffect(f"thaw the process of {pod_names(targets)}", perform)


def _delete_pods(targets: Sequence[TargetPod]) -> SideEffect:
    def perform(ports: Ports) -> Sequence[Change]:
        for target in targets:
            ports.cluster.delete(Deletion("Pod", target.pod, target.uid, grace_seconds=0))
        return []

    return SideEffect(f"delete {pod_names(targets)}, which could not be thawed", perform)


def _thawed_at(entry: FaultStatus, pod: Json) -> datetime | None:
    attempts = range(1, entry.attempt + 1)
    containers = [thawing_container(entry.name, attempt) for attempt in attempts]
    containers.append(immediate_thaw_container(entry.name))
    reports = [ephemeral.read_report(pod, container) for container in containers]
    return min((report.at for report in reports if report is not None and report.at), default=None)
