"""Kafka's own command-line tools, each in a Job with the members' image."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from krt_contract.labels import Component
from krt_operator import names
from krt_operator.build.decorate import decorate, selector
from krt_operator.build.render import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_contract.members import Member
    from krt_operator.engine.views import Json
    from krt_operator.plan.plan import Plan


RESOURCES: Final[Json] = {
    "requests": {"cpu": "50m", "memory": "160Mi"},
    "limits": {"memory": "384Mi"},
}
"""A JVM of 128 MiB of heap for a few seconds."""

WRITER_RESOURCES: Final[Json] = {
    "requests": {"cpu": "50m", "memory": "128Mi"},
    "limits": {"memory": "256Mi"},
}
"""100 000 offsets of a dump at a time, whatever its length: 121 MiB resident (measured)."""

DEADLINE_SECONDS: Final = 120
"""How long a tool may take: it waits a minute for brokers that do not answer."""


def reassign_job(
    plan: Plan, name: str, moves: Mapping[tuple[str, int], Sequence[int]], pull: str
) -> Json:
    """The Job that hands a reassignment to Kafka.

    Args:
        plan: of the run.
        name: of the Job.
        moves: (topic, partition) to its new replicas, preferred leader first.
        pull: imagePullPolicy.
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
    )
    return decorate(objects, plan, Component.TOOL, "tool", pull)[0]


def dump_job(plan: Plan, broker: Member, pull: str) -> Json:
    """The Job that turns what a broker's replicas of the tested topics hold into evidence.

    Two containers meet in a pipe: Kafka's own tool with the members' image, which reads the
    broker's volume while the broker runs, and ours, which writes the evidence. A volume that one
    node alone may use can be mounted where the broker runs, so that is where the pod goes.
    """
    beside = {
        "labelSelector": {"matchLabels": selector(plan, member=broker.member)},
        "topologyKey": "kubernetes.io/hostname",
    }
    name = names.dump_job(plan.name, broker.member)
    objects = render(
        "dump-job.yaml.j2",
        name=name,
        deadline_seconds=max(1, int(plan.spec.timeouts.replica_dump.seconds)),
        affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [beside]}},
        kafka_image=plan.images["kafka"],
        traffic_image=plan.images["traffic"],
        topics=[one.name for one in plan.topics],
        ordinal=broker.ordinal,
        namespace=plan.namespace,
        test=plan.name,
        uid=plan.uid,
        tool_resources=RESOURCES,
        writer_resources=WRITER_RESOURCES,
        volume=names.member_claim(plan.name, broker.member),
        claim=plan.spec.evidence.claim_name,
        plan=names.plan(plan.name),
        control=names.control(plan.name),
        scripts=names.scripts(plan.name),
    )
    return decorate(objects, plan, Component.TOOL, f"dump-{broker.member}", pull)[0]
