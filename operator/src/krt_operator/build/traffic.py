"""Producers, consumers and the recorder: plain pods, so that a pod's uid is an incarnation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract.labels import Component
from krt_operator import names
from krt_operator.build.decorate import decorate
from krt_operator.build.render import render
from krt_operator.constants import TRAFFIC_GRACE

if TYPE_CHECKING:
    from krt_operator.engine.views import Json
    from krt_operator.plan.plan import Plan

RECORDER_RESOURCES: Final[Json] = {
    "requests": {"cpu": "50m", "memory": "96Mi"},
    "limits": {"memory": "256Mi"},
}
"""The recorder follows logs and watches; its needs do not depend on the resource."""


@dataclass(frozen=True)
class TrafficPod:
    """A producer's or consumer's pod that should be there.

    Attributes:
        role: `producer` or `consumer`.
        entry: `name` in spec.traffic.
        replica: from 0.
        pod: its name.
        member: the member label, `producer-<entry>-<replica>`.
        transforms: whether it writes what it makes of its input; then it stops after the producers
            and before the other consumers.
    """

    role: Component
    entry: str
    replica: int
    pod: str
    member: str
    transforms: bool = False


def traffic_pods(plan: Plan) -> tuple[TrafficPod, ...]:
    """Every producer and consumer pod of the run, producers first."""
    found = [
        TrafficPod(
            Component.PRODUCER,
            one.name,
            i,
            names.producer_pod(plan.name, one.name, i),
            f"producer-{one.name}-{i}",
        )
        for one in plan.spec.traffic.producers
        for i in range(one.replicas)
    ]
    found += [
        TrafficPod(
            Component.CONSUMER,
            one.name,
            i,
            names.consumer_pod(plan.name, one.name, i),
            f"consumer-{one.name}-{i}",
            transforms=one.output is not None,
        )
        for one in plan.spec.traffic.consumers
        for i in range(one.replicas)
    ]
    return tuple(found)


def traffic_pod(plan: Plan, one: TrafficPod, pull: str) -> Json:
    """The pod of one producer or consumer replica."""
    entries = (
        plan.spec.traffic.producers
        if one.role is Component.PRODUCER
        else plan.spec.traffic.consumers
    )
    entry = next(each for each in entries if each.name == one.entry)
    objects = render(
        "traffic-pod.yaml.j2",
        **_common(plan),
        name=one.pod,
        role=str(one.role),
        container="traffic",
        restart_policy="Never",
        account=f"{plan.name}-traffic",
        entry=one.entry,
        replica=one.replica,
        resources=entry.resources.dump(),
    )
    return decorate(objects, plan, one.role, one.member, pull)[0]


def recorder(plan: Plan, pull: str) -> Json:
    """The recorder's pod; restarted in place when it fails, for its gap is then the shortest."""
    objects = render(
        "traffic-pod.yaml.j2",
        **_common(plan),
        name=names.recorder_pod(plan.name),
        role="recorder",
        container="recorder",
        restart_policy="OnFailure",
        account=f"{plan.name}-recorder",
        entry="",
        replica=0,
        resources=RECORDER_RESOURCES,
    )
    return decorate(objects, plan, Component.RECORDER, "recorder", pull)[0]


def _common(plan: Plan) -> Json:
    return {
        "image": plan.images["traffic"],
        "grace_seconds": TRAFFIC_GRACE,
        "control": names.control(plan.name),
        "namespace": plan.namespace,
        "test": plan.name,
        "uid": plan.uid,
        "plan": names.plan(plan.name),
        "claim": plan.spec.evidence.claim_name,
    }
