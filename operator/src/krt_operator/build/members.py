"""Brokers, ZooKeeper servers and KRaft controllers: each a StatefulSet, Service, claim, ConfigMap.

A broker has a second Service, by which the other brokers reach it before it is ready for clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.cluster_security import USER
from krt_contract.kafka_security import FOLDER, SecretFile
from krt_contract.labels import Component
from krt_contract.members import CONTROLLER_PORT, KAFKA_PORT, ZOOKEEPER_PORT, MemberKind
from krt_operator import names
from krt_operator.api.spec import Separation
from krt_operator.build.cluster_secrets import member_secrets, scram_mechanism
from krt_operator.build.decorate import decorate_objects, selector
from krt_operator.build.member_files import (
    LOG_DIRECTORY,
    SERVER_PROPERTIES,
    build_command,
    build_files,
)
from krt_operator.build.render import render
from krt_operator.constants import ELECTION_PORT, PEERS_PORT, PROBE_PORT, QUORUM_PORT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.members import Member
    from krt_operator.api.plan import Plan
    from krt_operator.engine.views import Json

HOST: Final = "kubernetes.io/hostname"
ENSEMBLE_GRACE: Final = 5
"""Seconds that a deleted ZooKeeper server or KRaft controller has to shut down; neither has
partitions to hand over."""

PORTS: Final[Mapping[MemberKind, list[Json]]] = {
    MemberKind.KAFKA: [{"name": "kafka", "number": KAFKA_PORT}],
    MemberKind.ZOOKEEPER: [
        {"name": "client", "number": ZOOKEEPER_PORT},
        {"name": "quorum", "number": QUORUM_PORT},
        {"name": "election", "number": ELECTION_PORT},
    ],
    MemberKind.CONTROLLER: [{"name": "controller", "number": CONTROLLER_PORT}],
}
"""Ports of a member's Service; the first one shows that the member is ready."""


def build_members(plan: Plan, pull_policy: str) -> list[Json]:
    """All objects of all members, every member running."""
    return [obj for member in plan.members for obj in build_member(plan, member, pull_policy)]


def build_member(plan: Plan, member: Member, pull_policy: str, replicas: int = 1) -> list[Json]:
    """The objects of one member.

    Args:
        plan: the run's plan.
        member: the broker, ZooKeeper server or KRaft controller.
        pull_policy: `imagePullPolicy` of its containers.
        replicas: 0 while a fault keeps the member down, else 1.
    """
    broker, kraft = member.kind is MemberKind.KAFKA, plan.spec.kraft
    section = plan.spec.kafka if broker else plan.spec.ensemble
    name, peers = names.of_member(plan.name, member.member), names.peers(member.member)
    services: list[Json] = [{"name": name, "ports": PORTS[member.kind], "unready": not broker}]
    if broker:
        ports = [{"name": "peers", "number": PEERS_PORT}]
        services.append(
            {"name": names.of_member(plan.name, peers), "ports": ports, "unready": True}
        )
    # In KRaft mode, a broker also has to know itself: it does once it is not fenced any more.
    port = KAFKA_PORT if plan.spec.kafka.security is None else PROBE_PORT
    probe = [str(port), str(member.node_id)] if kraft else [str(port)]
    grace = plan.spec.kafka.termination_grace_period_seconds if broker else ENSEMBLE_GRACE
    objects = render(
        "member.yaml.j2",
        name=name,
        member=member.member,
        container=member.kind,
        image=plan.images["kafka"],
        java=build_command(member.kind, section.resources, kraft=kraft),
        myid=member.node_id if member.kind is MemberKind.ZOOKEEPER else None,
        format_with=_format(plan) if kraft else None,
        user=_user(plan, member),
        kafka=member_secrets(plan, member),
        own_host=names.host(plan.name, peers, plan.namespace) if broker else None,
        replicas=replicas,
        storage=section.storage,
        resources=section.resources.dump(),
        grace_seconds=grace,
        services=services,
        metadata_probe=probe if broker else None,
        selector=selector(plan, member=member.member),
        affinity=_affinity(plan, member),
        files=build_files(plan, member),
        scripts=names.scripts(plan.name),
    )
    return decorate_objects(objects, plan, Component(member.kind), member.member, pull_policy)


def build_budgets(plan: Plan) -> list[Json]:
    """A PodDisruptionBudget for the brokers and one for the servers of the metadata.

    Each lets one member at a time be evicted.
    """
    budgets: list[Json] = []
    for component, short, count in (
        (Component.KAFKA, "kafka", len(plan.brokers)),
        (Component.ZOOKEEPER, "zk", len(plan.zookeepers)),
        (Component.CONTROLLER, "controller", len(plan.controllers)),
    ):
        if not count:
            continue
        objects = render(
            "budget.yaml.j2",
            name=f"{plan.name}-{short}",
            min_available=count - 1,
            selector=selector(plan, component=component),
        )
        budgets.extend(decorate_objects(objects, plan, component))
    return budgets


def _format(plan: Plan) -> dict[str, str]:
    """What the folders of a KRaft member are formatted with before it starts."""
    return {
        "id": plan.metadata.cluster_id,
        "file": SERVER_PROPERTIES,
        "directory": LOG_DIRECTORY,
    }


def _user(plan: Plan, member: Member) -> dict[str, str] | None:
    """The user that a member makes known to the cluster before it starts; None where it does not.

    Without ZooKeeper, it is a part of what the folders are formatted with.
    """
    mechanism = scram_mechanism(plan, member)
    if mechanism is None:
        return None
    return {
        "mechanism": mechanism,
        "name": USER,
        "password": f"{FOLDER}/{SecretFile.PASSWORD}",
        "zookeeper": plan.zookeeper,
        "file": SERVER_PROPERTIES,
    }


def _affinity(plan: Plan, member: Member) -> Json:
    """Bound to the zone; no two of a kind on a node; brokers separated as the spec says."""
    required: list[Json] = [_not_with(plan, Component(member.kind))]
    preferred: list[Json] = []
    other = Component.KAFKA
    if member.kind is MemberKind.KAFKA:
        other = Component.CONTROLLER if plan.spec.kraft else Component.ZOOKEEPER
    match plan.spec.separation:
        case Separation.REQUIRED:
            required.append(_not_with(plan, other))
        case Separation.PREFERRED:
            preferred.append({"weight": 100, "podAffinityTerm": _not_with(plan, other)})
        case Separation.IGNORED:
            pass
    anti: Json = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    if preferred:
        anti["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    key = plan.spec.kafka.rack.topology_key
    zone = {"matchExpressions": [{"key": key, "operator": "In", "values": [member.zone]}]}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [zone]}
        },
        "podAntiAffinity": anti,
    }


def _not_with(plan: Plan, component: Component) -> Json:
    return {
        "labelSelector": {"matchLabels": selector(plan, component=component)},
        "topologyKey": HOST,
    }
