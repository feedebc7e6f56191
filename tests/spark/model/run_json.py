"""The plan under which histories ran, as ``run.json`` holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.spark.model.cluster import SESSION
from tests.spark.model.engine import MS
from tests.spark.model.group import SESSION as GROUP_SESSION

if TYPE_CHECKING:
    from tests.spark.model.group import Group
    from tests.spark.model.world import World

RUN = "model-run"


def group_name(group: Group) -> str:
    """Return the name under which a group's evidence is kept."""
    return "read-committed" if group.plan.committed else "read-uncommitted"


def plan(named: dict[str, World]) -> dict[str, Any]:
    """Return ``run.json``."""
    producers = [
        {
            "name": f"{name}-{item.name}",
            "topic": name,
            "replicas": 1,
            "acks": item.acks,
            "enableIdempotence": item.idempotent,
            "transactional": {"recordsPerTransaction": item.transactional}
            if item.transactional
            else None,
            "recordsPerSecond": item.rate,
            "config": {
                "max.in.flight": str(item.in_flight),
                "message.timeout.ms": str(item.timeout // MS),
                **({} if item.retries else {"message.send.max.retries": "0"}),
            },
        }
        for name, world in named.items()
        for item in world.scenario.producers
    ]
    consumers = [
        {
            "name": f"{name}-{group.plan.name}",
            "topics": [name],
            "group": group_name(group),
            "replicas": group.plan.members,
            "isolation": "read_committed" if group.plan.committed else "read_uncommitted",
            "config": {"session.timeout.ms": str(GROUP_SESSION // MS)},
        }
        for name, world in named.items()
        for group in world.groups
    ]
    topics = [
        {
            "name": name,
            "partitions": world.scenario.partitions,
            "replicationFactor": 3,
            "config": {
                "min.insync.replicas": str(world.scenario.min_insync),
                "unclean.leader.election.enable": str(world.scenario.unclean).lower(),
            },
        }
        for name, world in named.items()
    ]
    return {
        "schemaVersion": 2,
        "run": {"namespace": "model", "name": "histories", "uid": RUN, "seed": 0},
        "spec": {
            "traffic": {"producers": producers, "consumers": consumers},
            "evidence": {"compareReplicas": True},
        },
        "topics": topics,
        "brokerConfig": {"zookeeper.session.timeout.ms": str(SESSION // MS)},
    }
