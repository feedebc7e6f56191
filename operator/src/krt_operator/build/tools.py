"""Jobs that run Kafka's own command-line tools with the members' image."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from krt_contract.labels import Component
from krt_operator import names
from krt_operator.build.decorate import decorate_objects, selector
from krt_operator.build.evidence import evidence_access
from krt_operator.build.kafka_secrets import kafka_secrets
from krt_operator.build.render import render
from krt_operator.build.shared import CLIENT_PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_contract.members import Member
    from krt_operator.api.plan import Plan
    from krt_operator.engine.views import Json


RESOURCES: Final[Json] = {
    "requests": {"cpu": "50m", "memory": "160Mi"},
    "limits": {"memory": "384Mi"},
}
"""A JVM with 128 MiB of heap for a few seconds."""

WRITER_RESOURCES: Final[Json] = {
    "requests": {"cpu": "50m", "memory": "128Mi"},
    "limits": {"memory": "256Mi"},
}
"""100,000 offsets of a dump at a time, whatever its length: 121 MiB resident (measured)."""

DEADLINE_SECONDS: Final = 120
"""How long a tool may take; it waits a minute for brokers that do not answer."""


def build_reassign_job(
    plan: Plan, name: str, moves: Mapping[tuple[str, int], Sequence[int]], pull_policy: str
) -> Json:
    """The Job that submits a reassignment to Kafka.

    Args:
        plan: the run's plan.
        name: the Job's name.
        moves: (topic, partition) to its new replicas, preferred leader first.
        pull_policy: `imagePullPolicy`.
    """
    partitions = [
        {"topic": topic, "partition": number, "replicas": list(replicas)}
        for (topic, number), replicas in sorted(moves.items())
    ]
    objects = render(
        "reassign-job.yaml.j2",
        name=name,
        deadline_seconds=DEADLINE_SECONDS,
        image=plan.images["kafka"],
        bootstrap=plan.bootstrap,
        moves=json.dumps({"version": 1, "partitions": partitions}, sort_keys=True),
        resources=RESOURCES,
        scripts=names.scripts(plan.name),
        login=f"/krt/scripts/{CLIENT_PROPERTIES}" if plan.spec.kafka.security else "",
        kafka=kafka_secrets(plan),
    )
    return decorate_objects(objects, plan, Component.TOOL, "tool", pull_policy)[0]


def build_dump_job(plan: Plan, broker: Member, pull_policy: str) -> Json:
    """The Job that turns what a broker's replicas of the tested topics hold into evidence.

    Two containers share a pipe: Kafka's tool with the members' image, which reads the broker's
    volume while the broker runs, and the traffic image, which writes the evidence. A volume that
    only one node can mount is mounted where the broker runs, so the pod is scheduled there.
    """
    same_node = {
        "labelSelector": {"matchLabels": selector(plan, member=broker.member)},
        "topologyKey": "kubernetes.io/hostname",
    }
    name = names.dump_job(plan.name, broker.member)
    objects = render(
        "dump-job.yaml.j2",
        name=name,
        deadline_seconds=max(1, int(plan.spec.timeouts.replica_dump.seconds)),
        affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [same_node]}},
        kafka_image=plan.images["kafka"],
        traffic_image=plan.images["traffic"],
        topics=[topic.name for topic in plan.topics],
        ordinal=broker.ordinal,
        namespace=plan.namespace,
        test=plan.name,
        uid=plan.uid,
        tool_resources=RESOURCES,
        writer_resources=WRITER_RESOURCES,
        volume=names.member_claim(plan.name, broker.member),
        evidence=evidence_access(plan),
        plan=names.plan(plan.name),
        control=names.control(plan.name),
        scripts=names.scripts(plan.name),
    )
    return decorate_objects(objects, plan, Component.TOOL, f"dump-{broker.member}", pull_policy)[0]
