"""What is kept standing while a run is at work, whatever phase it is in.

Members have the replicas that open faults leave them, and pods that the scheduler does not leave
lying; traffic pods that a fault took away, or that ended on a fatal Kafka error, come back as new
incarnations. A traffic pod that is gone without a reason we know makes the run's coverage doubtful:
it is never assumed to have done well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.control import STATE_KEY, ControlState
from krt_contract.labels import Component
from krt_operator import names
from krt_operator.api.status import InconclusiveReasonKind, Phase
from krt_operator.build.traffic import build_recorder_pod, build_traffic_pod, traffic_pods
from krt_operator.engine import journal
from krt_operator.engine.ports import (
    Act,
    Deletion,
    Happening,
    Progress,
)
from krt_operator.faults.hold import (
    members_kept_down,
    members_under_fault,
    stateful_sets_to_scale,
)
from krt_operator.health import pod_state, stuck_pods
from krt_operator.health.traffic_flow import flows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.build.traffic import TrafficPod
    from krt_operator.engine.ports import (
        Change,
        Json,
        Observed,
        Ports,
        Run,
    )
    from krt_operator.plan.plan import Plan

NOT_DRAINED: Final = "NotDrained"
"""InconclusiveReason of a group that did not reach the end in time."""

FATAL: Final = 3
"""Exit code of a traffic pod whose client met a fatal Kafka error: the next incarnation follows."""

BEHIND: Final = 4
"""Exit code of a consumer that was told where the end is and did not get there in its time."""


def upkeep(run: Run, plan: Plan, world: Observed, ports: Ports) -> Progress:
    """Members, recorder and traffic as they should be now; never a change of phase."""
    pull = ports.settings.image_pull_policy
    down = members_kept_down(run.status, run.spec)
    wanted: list[Json] = []
    if run.status.phase is not Phase.INJECTING:
        # While faults are open, Injecting itself decides who is down, with what it decides now.
        wanted += stateful_sets_to_scale(plan, world, down, pull)
    open_faults = members_under_fault(run.status)
    control = control_state(world, plan)
    if control != ControlState.DONE and names.recorder_pod(plan.name) not in world.pods:
        wanted.append(build_recorder_pod(plan, pull))
    again, told = stuck_pods.replaced(plan, world, run.status)
    acts: list[Act] = [*again]
    changes: list[Change] = []
    events: list[Happening] = [*told]
    for one in traffic_pods(plan):
        if one.member in open_faults or not _needed(run, one, control):
            continue
        pod = world.pods.get(one.pod)
        if pod is None:
            if flows(run.status) and not _hit(run, one):
                changes.append(_vanished(one, "its pod is gone", world))
            wanted.append(build_traffic_pod(plan, one, pull))
        elif pod_state.over(pod) and not pod_state.leaving(pod):
            why = _unexplained(run, one, pod, control)
            if why:
                changes.append(_vanished(one, why, world))
                events.append(Happening("TrafficPodLost", f"{one.pod}: {why}", warning=True))
            if not (_may_be_done(one, control) and pod_state.end(pod)[0] in {0, BEHIND}):
                acts.append(_again(plan, one, pod, pull))
    return Progress(
        apply=tuple(wanted), acts=tuple(acts), changes=tuple(changes), events=tuple(events)
    )


def control_state(world: Observed, plan: Plan) -> ControlState:
    """What traffic was last told; running where nothing was."""
    control = world.config_maps.get(names.control(plan.name))
    return ControlState(
        control["data"].get(STATE_KEY, ControlState.PRODUCE) if control else ControlState.PRODUCE
    )


def _needed(run: Run, one: TrafficPod, control: ControlState) -> bool:
    if control == ControlState.PRODUCE:
        return True
    if one.transforms and control == ControlState.DRAIN_TRANSFORMS:
        return not journal.has_inconclusive_reason(run.status, NOT_DRAINED)
    # Producers are done when told to stop; consumers when the end offsets have been reached, those
    # that transform before the others.
    if one.role is Component.PRODUCER:
        return False
    return control in {ControlState.STOP_PRODUCING, ControlState.DRAIN_TRANSFORMS} or (
        control == ControlState.DRAIN and not one.transforms
    )


def _may_be_done(one: TrafficPod, control: ControlState) -> bool:
    """Whether the pod was told where the end is."""
    return control == (ControlState.DRAIN_TRANSFORMS if one.transforms else ControlState.DRAIN)


def _hit(run: Run, one: TrafficPod, uid: str = "") -> bool:
    """Whether a fault explains that this pod (with this uid) is gone."""
    return any(
        target.member == one.member and uid in {"", target.uid}
        for fault in run.status.faults
        for target in fault.targets
    )


def _unexplained(run: Run, one: TrafficPod, pod: Json, control: ControlState) -> str:
    code, told = pod_state.end(pod)
    if code == FATAL or _hit(run, one, pod["metadata"]["uid"]):
        return ""
    if code in {0, BEHIND} and _may_be_done(one, control):
        return ""
    # Of a traceback, the line that says what it was; the rest is in the pod's log in the bundle.
    last = told.strip().splitlines()[-1] if told.strip() else "it said nothing"
    return f"ended with {'no exit code' if code is None else f'exit code {code}'}: {last}"


def _vanished(one: TrafficPod, why: str, world: Observed) -> Change:
    return journal.add_inconclusive_reason(
        "TrafficPodLost", InconclusiveReasonKind.COVERAGE, f"{one.pod} vanished: {why}", world.at
    )


def _again(plan: Plan, one: TrafficPod, pod: Json, pull: str) -> Act:
    """Replace an ended pod in one breath, so that no pass finds it missing in between."""

    def perform(ports: Ports) -> Sequence[Change]:
        gone = Deletion("Pod", one.pod, pod["metadata"]["uid"], grace_seconds=0)
        ports.cluster.delete(gone)
        ports.cluster.apply(build_traffic_pod(plan, one, pull))
        return ()

    return Act(f"replace {one.pod}", perform)
