"""Producers, consumers and the recorder: bare pods, so a pod's uid identifies an incarnation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract import metrics
from krt_contract.labels import ANNOTATION_RESTARTS, Component
from krt_operator import names
from krt_operator.build.decorate import decorate_objects
from krt_operator.build.evidence import evidence_access
from krt_operator.build.kafka_secrets import kafka_secrets
from krt_operator.build.render import render
from krt_operator.constants import TRAFFIC_GRACE

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan
    from krt_operator.engine.views import Json

RECORDER_RESOURCES: Final[Json] = {
    "requests": {"cpu": "50m", "memory": "96Mi"},
    "limits": {"memory": "256Mi"},
}
"""The recorder follows logs and watches; what it needs does not depend on the test."""


@dataclass(frozen=True)
class TrafficPod:
    """The pod of a producer or consumer replica.

    Attributes:
        role: `producer` or `consumer`.
        entry: its entry's `name` in spec.traffic.
        replica: from 0.
        pod: the pod's name.
        member: the member label, `producer-<entry>-<replica>`.
        transforms: whether it writes an output topic; it then stops after the producers and before
            the other consumers.
    """

    role: Component
    entry: str
    replica: int
    pod: str
    member: str
    transforms: bool = False


def traffic_pods(plan: Plan) -> tuple[TrafficPod, ...]:
    """Every producer and consumer pod of the run, producers first."""
    pods = [
        TrafficPod(
            Component.PRODUCER,
            producer.name,
            i,
            names.producer_pod(plan.name, producer.name, i),
            f"producer-{producer.name}-{i}",
        )
        for producer in plan.spec.traffic.producers
        for i in range(producer.replicas)
    ]
    pods += [
        TrafficPod(
            Component.CONSUMER,
            consumer.name,
            i,
            names.consumer_pod(plan.name, consumer.name, i),
            f"consumer-{consumer.name}-{i}",
            transforms=consumer.output is not None,
        )
        for consumer in plan.spec.traffic.consumers
        for i in range(consumer.replicas)
    ]
    return tuple(pods)


def build_traffic_pod(plan: Plan, pod: TrafficPod, pull_policy: str, restarts: int = 0) -> Json:
    """The pod of one producer or consumer replica.

    Args:
        plan: the run's plan.
        pod: the replica.
        pull_policy: `imagePullPolicy` of its container.
        restarts: how many restarts in succession it is.
    """
    entries = (
        plan.spec.traffic.producers
        if pod.role is Component.PRODUCER
        else plan.spec.traffic.consumers
    )
    entry = next(entry for entry in entries if entry.name == pod.entry)
    objects = render(
        "traffic-pod.yaml.j2",
        **_common(plan),
        name=pod.pod,
        role=str(pod.role),
        container="traffic",
        restart_policy="Never",
        account=f"{plan.name}-traffic",
        entry=pod.entry,
        replica=pod.replica,
        resources=entry.resources.dump(),
    )
    if restarts:
        objects[0]["metadata"]["annotations"] = {ANNOTATION_RESTARTS: str(restarts)}
    return decorate_objects(objects, plan, pod.role, pod.member, pull_policy)[0]


def build_recorder_pod(plan: Plan, pull_policy: str) -> Json:
    """The recorder's pod; it restarts in place when it fails, which keeps its gap short."""
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
    return decorate_objects(objects, plan, Component.RECORDER, "recorder", pull_policy)[0]


def _common(plan: Plan) -> Json:
    return {
        "image": plan.images["traffic"],
        "grace_seconds": TRAFFIC_GRACE,
        "control": names.control(plan.name),
        "namespace": plan.namespace,
        "test": plan.name,
        "uid": plan.uid,
        "plan": names.plan(plan.name),
        "evidence": evidence_access(plan),
        "kafka": kafka_secrets(plan),
        "metrics_port": metrics.PORT,
        "metrics_port_name": metrics.PORT_NAME,
    }
