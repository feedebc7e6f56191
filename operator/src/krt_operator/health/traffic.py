"""Who of the traffic is at work, may yet reach the end it was told, or gave up before it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.labels import Component
from krt_operator.build.traffic import traffic_pods
from krt_operator.health import pod_state
from krt_operator.phases.keepalive import BEHIND

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_operator.build.traffic import TrafficPod
    from krt_operator.engine.ports import Observed
    from krt_operator.plan.plan import Plan

    Who = Callable[[TrafficPod], bool]


def producer(one: TrafficPod) -> bool:
    """Those that write the topics."""
    return one.role is Component.PRODUCER


def transformer(one: TrafficPod) -> bool:
    """Consumers that write what they make of their input."""
    return one.transforms


def reader(one: TrafficPod) -> bool:
    """Consumers that only read."""
    return one.role is Component.CONSUMER and not one.transforms


def alive(plan: Plan, world: Observed, who: Who) -> list[str]:
    """Pods that are there and at work."""
    return [
        one.pod
        for one in traffic_pods(plan)
        if who(one) and one.pod in world.pods and not pod_state.over(world.pods[one.pod])
    ]


def reading(plan: Plan, world: Observed, who: Who) -> list[str]:
    """Pods that may yet reach the end: those that are gone or failed are replaced."""
    over = {*_ended(world, 0), *behind(plan, world, who)}
    return [one.pod for one in traffic_pods(plan) if who(one) and one.pod not in over]


def behind(plan: Plan, world: Observed, who: Who) -> list[str]:
    """Pods that ended before the end they were told, and stay: nobody takes their place."""
    found = {one for one in _ended(world, BEHIND) if not pod_state.leaving(world.pods[one])}
    return [one.pod for one in traffic_pods(plan) if who(one) and one.pod in found]


def _ended(world: Observed, code: int) -> list[str]:
    return [
        name
        for name, pod in world.pods.items()
        if pod_state.over(pod) and pod_state.end(pod)[0] == code
    ]
