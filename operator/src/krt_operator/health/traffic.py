"""Which traffic pods are at work, may still reach the end, or gave up before it. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from krt_contract.control import BOUNDS_KEY, END_OFFSETS_AT_KEY, ControlState, state_of
from krt_contract.exits import TrafficExit
from krt_contract.labels import Component
from krt_operator import names
from krt_operator.api.times import from_micros
from krt_operator.build.traffic import traffic_pods

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from krt_operator.api.plan import Plan
    from krt_operator.build.traffic import TrafficPod
    from krt_operator.engine.progress import Observed
    from krt_operator.engine.views import Json

    Selector = Callable[[TrafficPod], bool]

GIVEN_UP: Final = frozenset({TrafficExit.BEHIND, TrafficExit.UNUSABLE})
"""Exit codes of pods that are not started again although they did not do all of their work."""


def control_state(observed: Observed, plan: Plan) -> ControlState:
    """The state in the control ConfigMap; Wait where there is none yet."""
    control = observed.config_maps.get(names.control(plan.name))
    return ControlState.WAIT if control is None else read_state(control)


def read_state(control: Json) -> ControlState:
    """The state that a control ConfigMap names; Wait where it names none yet."""
    return state_of(control["data"])


def end_offsets_at(control: Json) -> datetime:
    """When consumers were given the end offsets.

    A control ConfigMap of an earlier release has no such time; then it is when they were read.
    """
    data = control["data"]
    read = (bound["takenAt"] for bound in json.loads(data.get(BOUNDS_KEY, "[]")))
    return from_micros(int(data.get(END_OFFSETS_AT_KEY) or max(read, default=0)))


def producer(pod: TrafficPod) -> bool:
    """Select the producers."""
    return pod.role is Component.PRODUCER


def transformer(pod: TrafficPod) -> bool:
    """Select the consumers that write an output."""
    return pod.transforms


def reader(pod: TrafficPod) -> bool:
    """Select the consumers that only read."""
    return pod.role is Component.CONSUMER and not pod.transforms


def alive(plan: Plan, observed: Observed, select: Selector) -> list[str]:
    """Pods that exist and have not ended."""
    found = []
    for traffic_pod in traffic_pods(plan):
        pod = observed.pod(traffic_pod.pod)
        if select(traffic_pod) and pod is not None and not pod.ended:
            found.append(traffic_pod.pod)
    return found


def reading(plan: Plan, observed: Observed, select: Selector) -> list[str]:
    """Pods that may still reach the end; one that is gone or failed is replaced."""
    over = {*_ended(observed, {TrafficExit.DONE}), *behind(plan, observed, select)}
    return [pod.pod for pod in traffic_pods(plan) if select(pod) and pod.pod not in over]


def behind(plan: Plan, observed: Observed, select: Selector) -> list[str]:
    """Pods that ended before the end offsets and are not replaced."""
    found = _ended(observed, GIVEN_UP, stays=True)
    return [pod.pod for pod in traffic_pods(plan) if select(pod) and pod.pod in found]


def _ended(observed: Observed, codes: Collection[int], *, stays: bool = False) -> set[str]:
    return {
        pod.name
        for pod in observed.pod_views()
        if pod.ended and pod.exit_code in codes and not (stays and pod.deleting)
    }
