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
from krt_operator.engine.views import PodView
from krt_operator.faults import ephemeral
from krt_operator.faults.action import FaultAction, Hold, pod_names
from krt_operator.faults.reports import has_started, read_report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.spec import Fault, Spec
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
        """Start the thawing, then the freezing container in every target that is left."""
        entry, spec, observed = ctx.entry, ctx.plan.spec, ctx.observed
        seconds = f"{ctx.fault.duration.seconds:.3f}"
        targets = ephemeral.left_targets(entry, observed, freezing_container)
        stop = ephemeral.Signal(
            freezing_container(entry, entry.attempt),
            "STOP",
            not_after=ephemeral.not_after(entry, ctx.now),
        )
        thaw = ephemeral.Signal(thawing_container(entry, entry.attempt), "CONT", (seconds,))

        def perform(ports: Ports) -> Sequence[Change]:
            for target in targets:
                ephemeral.start_container(ports, spec, observed, target, thaw)
                ephemeral.start_container(ports, spec, observed, target, stop)
            return []

        return SideEffect(f"freeze the process of {pod_names(targets)}", perform)

    def outcome(self, ctx: FaultContext) -> Outcome:
        """What the freezing containers of all attempts reported."""
        return ephemeral.read_outcome(
            ctx.entry,
            ctx.observed,
            freezing_container,
            ObservationKind.PROCESS_STOPPED,
            "SIGSTOP, in state T",
        )

    def hold(self, ctx: FaultContext) -> Hold:
        """Wait for the reports of the thawing containers, and step in when they are overdue."""
        spec = ctx.plan.spec
        frozen = still_frozen(ctx.entry, ctx.observed, spec)
        if not frozen:
            return Hold(reverted_at=ended_at(ctx.entry, ctx.observed, spec) or ctx.now)
        due = self.revert_due(ctx.fault, ctx.entry) or ctx.now
        return Hold() if ctx.now < due + THAW_OVERDUE else self.revert(ctx)

    def revert(self, ctx: FaultContext) -> Hold:
        """Thaw once more; after `THAW_TIMEOUT`, delete the pods whose process may be stopped.

        A freezing container that has not started until then has stopped nothing.
        """
        spec = ctx.plan.spec
        frozen = still_frozen(ctx.entry, ctx.observed, spec)
        given_up = (self.revert_due(ctx.fault, ctx.entry) or ctx.now) + THAW_TIMEOUT
        if ctx.now < given_up:
            return Hold(side_effects=(thaw_now(ctx.entry, frozen, ctx.observed, spec),))
        doomed = [target for target in frozen if _was_reached(ctx.entry, target, ctx.observed)]
        # The controller is late only if it was not there at this time.
        if not doomed:
            return Hold(reverted_at=ctx.now, due=given_up)
        return Hold(
            reverted_at=ctx.now,
            due=given_up,
            side_effects=(_delete_pods(doomed, spec),),
            revert_error=f"{pod_names(doomed)}: the process could not be thawed within "
            f"{THAW_TIMEOUT.seconds} s, so the pod was deleted; check the node",
        )

    def find_interference(self, ctx: FaultContext) -> tuple[str, ...]:
        """Which broker of somebody else was restarted or replaced instead of going on.

        Its owner decides what becomes of a broker that does not respond: a liveness probe has the
        container restarted, during the freeze or right after it, and an operator deletes the pod.
        """
        gone = [
            f"{target.pod}: the pod was replaced before the cluster had recovered from the freeze"
            for target in ctx.entry.referenced_brokers.values()
            if ctx.observed.target_pod(target) is None
        ]
        restarts = _restarts(ctx.entry, ctx.observed, ctx.plan.spec)
        return (
            *gone,
            *(
                f"{name}: its container was restarted at {at:%H:%M:%S}, after the freeze had "
                "begun, as a liveness probe does; choose a shorter duration"
                for name, at in restarts.items()
            ),
        )


def freezing_container(entry: FaultStatus, attempt: int) -> str:
    """The ephemeral container that stops the process."""
    return ephemeral.container_name("freeze", entry, attempt)


def thawing_container(entry: FaultStatus, attempt: int) -> str:
    """The ephemeral container that continues the process when the duration is over."""
    return ephemeral.container_name("thaw", entry, attempt)


def immediate_thaw_container(entry: FaultStatus) -> str:
    """The ephemeral container that continues the process at once."""
    return ephemeral.container_name("thaw", entry, "now")


def still_frozen(entry: FaultStatus, observed: Observed, spec: Spec) -> list[TargetPod]:
    """Targets that exist and that may be stopped still.

    Left out are those that were reported as thawed, that no attempt could stop, and whose container
    was restarted meanwhile.
    """
    restarted = _restarts(entry, observed, spec)
    return [
        target
        for target in entry.targets
        if (pod := observed.target_pod(target))
        and _thawed_at(entry, pod) is None
        and not _is_untouched(entry, pod)
        and target.pod not in restarted
    ]


def ended_at(entry: FaultStatus, observed: Observed, spec: Spec) -> datetime | None:
    """When the last target was thawed or, before that, restarted, by its node's clock.

    None where none was.
    """
    restarted = _restarts(entry, observed, spec)
    ends = []
    for target in entry.targets:
        pod = observed.target_pod(target)
        times = [_thawed_at(entry, pod) if pod else None, restarted.get(target.pod)]
        ends += [min(known)] if (known := [at for at in times if at is not None]) else []
    return max(ends, default=None)


def open_freezes(faults: Sequence[Fault], entries: Sequence[FaultStatus]) -> list[FaultStatus]:
    """Entries of the freezes that may have stopped a process, including those only intended."""
    freezes = {fault.name for fault in faults if fault.action is Action.FREEZE_POD}
    return [entry for entry in entries if entry.name in freezes and entry.state.open]


def thaw_now(
    entry: FaultStatus, targets: Sequence[TargetPod], observed: Observed, spec: Spec
) -> SideEffect:
    """Continue the processes of these targets at once."""
    signal = ephemeral.Signal(immediate_thaw_container(entry), "CONT")

    def perform(ports: Ports) -> Sequence[Change]:
        for target in targets:
            ephemeral.start_container(ports, spec, observed, target, signal)
        return []

    return SideEffect(f"thaw the process of {pod_names(targets)}", perform)


def _delete_pods(targets: Sequence[TargetPod], spec: Spec) -> SideEffect:
    def perform(ports: Ports) -> Sequence[Change]:
        for target in targets:
            deletion = Deletion("Pod", target.pod, target.uid, grace_seconds=0)
            ports.pods_of(spec, target).delete(deletion)
        return []

    return SideEffect(f"delete {pod_names(targets)}, which could not be thawed", perform)


def _was_reached(entry: FaultStatus, target: TargetPod, observed: Observed) -> bool:
    """Whether a freezing container of any attempt has started in the pod."""
    pod = observed.target_pod(target)
    attempts = range(1, entry.attempt + 1)
    return pod is not None and any(
        has_started(pod, freezing_container(entry, attempt)) for attempt in attempts
    )


def _is_untouched(entry: FaultStatus, pod: Json) -> bool:
    """Whether no attempt sent the signal, by what every freezing container reported."""
    attempts = range(1, entry.attempt + 1)
    reports = [read_report(pod, freezing_container(entry, attempt)) for attempt in attempts]
    return all(report is not None and report.untouched for report in reports)


def _thawed_at(entry: FaultStatus, pod: Json) -> datetime | None:
    attempts = range(1, entry.attempt + 1)
    containers = [thawing_container(entry, attempt) for attempt in attempts]
    containers.append(immediate_thaw_container(entry))
    reports = [read_report(pod, container) for container in containers]
    return min((report.at for report in reports if report is not None and report.at), default=None)


def _restarts(entry: FaultStatus, observed: Observed, spec: Spec) -> dict[str, datetime]:
    """Pod to the time at which its container ended since the freeze began, of somebody's brokers.

    Members of the test have no liveness probe.
    """
    found = {}
    for target in entry.referenced_brokers.values():
        pod = observed.target_pod(target)
        if pod is None or entry.injected_at is None:
            continue
        name = ephemeral.find_process(pod, target, spec).container["name"]
        for container in PodView(pod).containers:
            ended = container.ended_at
            if container.name == name and ended is not None and ended >= entry.injected_at:
                found[target.pod] = ended
    return found
