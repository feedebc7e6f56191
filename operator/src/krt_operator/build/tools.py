"""Kafka's own command-line tools, each in a Job with the members' image."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from krt_operator import names
from krt_operator.build.decorate import decorate
from krt_operator.build.render import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_operator.plan import Plan
    from krt_operator.ports import Json

COMPONENT: Final = "tool"

RESOURCES: Final[Json] = {
    "requests": {"cpu": "50m", "memory": "160Mi"},
    "limits": {"memory": "384Mi"},
}
"""A JVM of 128 MiB of heap for a few seconds."""

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
    return decorate(objects, plan, COMPONENT, "tool", pull)[0]
