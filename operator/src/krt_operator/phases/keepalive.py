"""What is kept running in every phase in which the test is at work.

Members have the replicas that open faults leave them. Traffic pods that a fault took away, or that
ended with a fatal Kafka error, are replaced by new incarnations, at once the first time and later
and later if they keep failing. One that says that starting again would not help is not replaced. A
traffic pod that is gone for an unknown reason makes the run inconclusive: nobody knows what it
would have reported. A recorder that has ended is replaced by another, which records the gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.control import ENDING, ControlState
from krt_contract.exits import TrafficExit
from krt_contract.labels import Component
from krt_operator import names
from krt_operator.api.status import InconclusiveReasonKind, Phase
from krt_operator.build.traffic import build_recorder_pod, build_traffic_pod, traffic_pods
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, Event, Progress, SideEffect
from krt_operator.faults.hold import members_under_fault, stateful_sets_to_scale
from krt_operator.health import pod_state, stuck_pods
from krt_operator.health.traffic import control_state, read_state
from krt_operator.health.traffic_flow import flows
from krt_operator.health.traffic_restarts import (
    failed_for_good,
    restart_due,
    restarts_in_succession,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.plan import Plan
    from krt_operator.build.traffic import TrafficPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed, Run
    from krt_operator.engine.views import Json, PodView

DONE: Final = frozenset({TrafficExit.DONE, TrafficExit.BEHIND})
"""Exit codes of a pod that knew the end offsets and has ended in order."""

NOT_DRAINED: Final = "NotDrained"
"""Inconclusive reason of a group that did not reach the end in time."""

POD_LOST: Final = "TrafficPodLost"
"""Inconclusive reason, and reason of the event, of a traffic pod that ended by no fault."""


def keepalive(run: Run, plan: Plan, observed: Observed, ports: Ports) -> Progress:
    """Members, recorder and traffic as they should be now; never a change of phase."""
    pull = ports.settings.image_pull_policy
    desired: list[Json] = []
    if run.status.phase is not Phase.INJECTING:
        # While faults are open, Injecting decides which members are down.
        desired += stateful_sets_to_scale(plan, run.status, observed, pull)
    control = _control(run, plan, observed, ports)
    recorder = Progress() if control in ENDING else _keep_recorder(plan, observed, pull)
    desired += recorder.apply
    deletions, unscheduled = stuck_pods.replacements(plan, observed, run.status)
    side_effects: list[SideEffect] = [*recorder.side_effects, *deletions]
    intents: list[Change] = []
    events: list[Event] = [*recorder.events, *unscheduled]
    open_faults = members_under_fault(run.status)
    for client in traffic_pods(plan):
        if client.member in open_faults or not _needed(run, client, control):
            continue
        pod = observed.pod(client.pod)
        if pod is None:
            if flows(run.status) and not _hit(run, client) and _is_gone(client, ports):
                intents.append(_lost(client, "its pod is gone", observed))
            desired.append(build_traffic_pod(plan, client, pull))
        elif _is_over(pod):
            cause = _unexplained_end(run, client, pod, control)
            if cause and not _is_known_lost(run, client, cause):
                # Before the pod is replaced: afterwards nobody could say how it ended.
                intents.append(_lost(client, cause, observed))
                events.append(Event(POD_LOST, f"{client.pod}: {cause}", warning=True))
            if _may_be_replaced(run, client, pod, control, observed.at):
                # What a fault did to the pod says nothing about the next one.
                restarts = 0 if _hit(run, client, pod.uid) else restarts_in_succession(pod) + 1
                side_effects.append(_replace(pod, build_traffic_pod(plan, client, pull, restarts)))
    return Progress(
        intents=tuple(intents),
        apply=tuple(desired),
        side_effects=tuple(side_effects),
        events=tuple(events),
    )


def _keep_recorder(plan: Plan, observed: Observed, pull_policy: str) -> Progress:
    pod = observed.pod(names.recorder_pod(plan.name))
    if pod is None:
        return Progress(apply=(build_recorder_pod(plan, pull_policy),))
    if not _is_over(pod):
        return Progress()
    message = f"{pod.name} {_end_of(pod)}; what it did not see until its replacement runs is a gap"
    return Progress(
        side_effects=(_replace(pod, build_recorder_pod(plan, pull_policy)),),
        events=(Event("RecorderReplaced", message, warning=True),),
    )


def _control(run: Run, plan: Plan, observed: Observed, ports: Ports) -> ControlState:
    """The state of the control, read by its name where a pod ended as only a later one lets it.

    A list may be outdated, and the run would be inconclusive.
    """
    listed = control_state(observed, plan)
    recorder = observed.pod(names.recorder_pod(plan.name))
    early = recorder is not None and _is_over(recorder) and listed not in ENDING
    if not early and not any(
        _ended_early(run, client, observed, listed) for client in traffic_pods(plan)
    ):
        return listed
    found = ports.cluster.get("ConfigMap", names.control(plan.name))
    return listed if found is None else read_state(found)


def _ended_early(run: Run, client: TrafficPod, observed: Observed, control: ControlState) -> bool:
    pod = observed.pod(client.pod)
    early = pod is not None and pod.exit_code in DONE and not _may_be_done(client, control)
    return early and _needed(run, client, control)


def _is_over(pod: PodView) -> bool:
    return pod.ended and not pod.deleting


def _is_gone(client: TrafficPod, ports: Ports) -> bool:
    """Read the pod by its name: a list may be outdated, and the run would be inconclusive."""
    return ports.cluster.get("Pod", client.pod) is None


def _may_be_replaced(
    run: Run, client: TrafficPod, pod: PodView, control: ControlState, at: datetime
) -> bool:
    if failed_for_good(pod):
        return False
    if _may_be_done(client, control) and pod.exit_code in DONE:
        return False
    due = restart_due(pod)
    return due is None or at >= due or _hit(run, client, pod.uid)


def _needed(run: Run, client: TrafficPod, control: ControlState) -> bool:
    if control in {ControlState.WAIT, ControlState.PRODUCE}:
        return True
    if client.transforms and control == ControlState.DRAIN_TRANSFORMS:
        return not journal.has_inconclusive_reason(run.status, NOT_DRAINED)
    # Producers are done in every later state. Consumers are done when they have reached the end
    # offsets; those with an output get them before the others.
    if client.role is Component.PRODUCER:
        return False
    return control in {ControlState.STOP_PRODUCING, ControlState.DRAIN_TRANSFORMS} or (
        control == ControlState.DRAIN and not client.transforms
    )


def _may_be_done(client: TrafficPod, control: ControlState) -> bool:
    """Whether the pod knows the end offsets."""
    last = ControlState.DRAIN_TRANSFORMS if client.transforms else ControlState.DRAIN
    return control == last


def _hit(run: Run, client: TrafficPod, uid: str = "") -> bool:
    """Whether a fault explains that the pod (with this uid) is gone."""
    return any(
        target.member == client.member and uid in {"", target.uid}
        for fault in run.status.faults
        for target in fault.targets
    )


def _unexplained_end(run: Run, client: TrafficPod, pod: PodView, control: ControlState) -> str:
    code = pod.exit_code
    if code == TrafficExit.FATAL or _hit(run, client, pod.uid):
        return ""
    if code in DONE and _may_be_done(client, control):
        return ""
    cause = _end_of(pod)
    return (
        f"{cause}; it is not started again, as that would not help"
        if failed_for_good(pod)
        else cause
    )


def _end_of(pod: PodView) -> str:
    # The last line of a traceback names the error; the rest is in the pod's log in the bundle.
    cause = pod_state.end_of(pod.containers[0]) if pod.containers else ""
    if not cause:
        return f"ended with no exit code: {pod.message or 'no termination message'}"
    # Of an eviction, this is the kubelet's word.
    why = pod.status.get("message")
    return f"{cause} ({why})" if why else cause


def _lost(client: TrafficPod, cause: str, observed: Observed) -> Change:
    return journal.add_inconclusive_reason(
        POD_LOST, InconclusiveReasonKind.COVERAGE, _lost_message(client, cause), observed.at
    )


def _is_known_lost(run: Run, client: TrafficPod, cause: str) -> bool:
    return journal.is_known_reason(run.status, POD_LOST, _lost_message(client, cause))


def _lost_message(client: TrafficPod, cause: str) -> str:
    return f"{client.pod} was lost: {cause}"


def _replace(pod: PodView, following: Json) -> SideEffect:
    """Delete an ended pod and create the next at once, so that no pass finds it missing."""

    def perform(ports: Ports) -> Sequence[Change]:
        ports.cluster.delete(Deletion("Pod", pod.name, pod.uid, grace_seconds=0))
        ports.cluster.apply(following)
        return ()

    return SideEffect(f"replace {pod.name}", perform)
