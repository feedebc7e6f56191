"""What is kept running in every phase in which the test is at work.

Members have the replicas that open faults leave them. Traffic pods that a fault took away, or that
ended with a fatal Kafka error, are replaced by new incarnations. A traffic pod that is gone for an
unknown reason makes the run inconclusive: nobody knows what it would have reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.control import ControlState
from krt_contract.labels import Component
from krt_operator import names
from krt_operator.api.status import InconclusiveReasonKind, Phase
from krt_operator.build.traffic import build_recorder_pod, build_traffic_pod, traffic_pods
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, Event, Progress, SideEffect
from krt_operator.faults.hold import (
    members_kept_down,
    members_under_fault,
    stateful_sets_to_scale,
)
from krt_operator.health import stuck_pods
from krt_operator.health.traffic import BEHIND, control_state
from krt_operator.health.traffic_flow import flows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.build.traffic import TrafficPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed, Run
    from krt_operator.engine.views import Json, PodView
    from krt_operator.plan.plan import Plan

NOT_DRAINED: Final = "NotDrained"
"""Inconclusive reason of a group that did not reach the end in time."""

FATAL: Final = 3
"""Exit code of a traffic pod after a fatal Kafka error; a new incarnation replaces the pod."""


def keepalive(run: Run, plan: Plan, observed: Observed, ports: Ports) -> Progress:
    """Members, recorder and traffic as they should be now; never a change of phase."""
    pull = ports.settings.image_pull_policy
    desired: list[Json] = []
    if run.status.phase is not Phase.INJECTING:
        # While faults are open, Injecting decides which members are down.
        desired += stateful_sets_to_scale(
            plan, observed, members_kept_down(run.status, run.spec), pull
        )
    control = control_state(observed, plan)
    if control != ControlState.DONE and names.recorder_pod(plan.name) not in observed.pods:
        desired.append(build_recorder_pod(plan, pull))
    deletions, unscheduled = stuck_pods.replacements(plan, observed, run.status)
    side_effects: list[SideEffect] = [*deletions]
    changes: list[Change] = []
    events: list[Event] = [*unscheduled]
    open_faults = members_under_fault(run.status)
    for client in traffic_pods(plan):
        if client.member in open_faults or not _needed(run, client, control):
            continue
        pod = observed.pod(client.pod)
        if pod is None:
            if flows(run.status) and not _hit(run, client):
                changes.append(_lost(client, "its pod is gone", observed))
            desired.append(build_traffic_pod(plan, client, pull))
        elif pod.ended and not pod.deleting:
            cause = _unexplained_end(run, client, pod, control)
            if cause:
                changes.append(_lost(client, cause, observed))
                events.append(Event("TrafficPodLost", f"{client.pod}: {cause}", warning=True))
            if not (_may_be_done(client, control) and pod.exit_code in {0, BEHIND}):
                side_effects.append(_replace(plan, client, pod, pull))
    return Progress(
        apply=tuple(desired),
        side_effects=tuple(side_effects),
        changes=tuple(changes),
        events=tuple(events),
    )


def _needed(run: Run, client: TrafficPod, control: ControlState) -> bool:
    if control == ControlState.PRODUCE:
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
    if code == FATAL or _hit(run, client, pod.uid):
        return ""
    if code in {0, BEHIND} and _may_be_done(client, control):
        return ""
    # The last line of a traceback names the error; the rest is in the pod's log in the bundle.
    text = pod.message.strip()
    last = text.splitlines()[-1] if text else "no termination message"
    return f"ended with {'no exit code' if code is None else f'exit code {code}'}: {last}"


def _lost(client: TrafficPod, cause: str, observed: Observed) -> Change:
    return journal.add_inconclusive_reason(
        "TrafficPodLost",
        InconclusiveReasonKind.COVERAGE,
        f"{client.pod} was lost: {cause}",
        observed.at,
    )


def _replace(plan: Plan, client: TrafficPod, pod: PodView, pull: str) -> SideEffect:
    """Delete an ended pod and create the next at once, so that no pass finds it missing."""

    def perform(ports: Ports) -> Sequence[Change]:
        ports.cluster.delete(Deletion("Pod", client.pod, pod.uid, grace_seconds=0))
        ports.cluster.apply(build_traffic_pod(plan, client, pull))
        return ()

    return SideEffect(f"replace {client.pod}", perform)
