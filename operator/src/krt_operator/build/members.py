"""Brokers and ZooKeeper servers: one StatefulSet, Service, claim and ConfigMap each.

A broker has a second Service, by which the others reach it before clients may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.labels import Component
from krt_contract.members import KAFKA_PORT, ZOOKEEPER_PORT, MemberKind
from krt_operator import names
from krt_operator.api.spec import Separation
from krt_operator.build.decorate import decorate, selector
from krt_operator.build.render import render
from krt_operator.constants import (
    ELECTION_PORT,
    KAFKA_HEAP_MIB,
    PEERS_PORT,
    QUORUM_PORT,
    ZOOKEEPER_HEAP_MIB,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.members import Member
    from krt_operator.engine.views import Json
    from krt_operator.plan.plan import Plan

HOST: Final = "kubernetes.io/hostname"
ZOOKEEPER_GRACE: Final = 5
"""Seconds a deleted ZooKeeper server has; it has nothing to hand over."""

COMPILER: Final = "-XX:TieredStopAtLevel=1"
"""Only the quick compiler: a member lives for minutes. With both, compiling took 8.0 of the 17 CPU
seconds that three brokers used in the first 15 s of the sample's traffic, and 3.8 of 13 a minute
later (threads' times in /proc)."""

LOG4J: Final = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d{ISO8601}] %p %m (%c)%n
log4j.logger.org.apache.zookeeper.server.NIOServerCnxn=WARN
log4j.logger.kafka.request.logger=WARN
"""
"""Everything to stdout, where the recorder reads it; a probe's connection is no news."""


def members(plan: Plan, pull: str, replicas: Mapping[str, int] | None = None) -> list[Json]:
    """All objects of all members.

    Args:
        plan: of the run.
        pull: imagePullPolicy.
        replicas: by member name, 0 for one that a fault holds down; 1 where not named.
    """
    down = replicas or {}
    found: list[Json] = []
    for one in plan.members:
        found.extend(member(plan, one, pull, down.get(one.member, 1)))
    return found


def member(plan: Plan, one: Member, pull: str, replicas: int) -> list[Json]:
    """The objects of one member."""
    broker = one.kind is MemberKind.KAFKA
    kind = plan.spec.kafka if broker else plan.spec.zookeeper
    ports = (
        [{"name": "kafka", "number": KAFKA_PORT}]
        if broker
        else [
            {"name": "client", "number": ZOOKEEPER_PORT},
            {"name": "quorum", "number": QUORUM_PORT},
            {"name": "election", "number": ELECTION_PORT},
        ]
    )
    name, among = names.of_member(plan.name, one.member), names.peers(one.member)
    services: list[Json] = [{"name": name, "ports": ports, "unready": not broker}]
    if broker:
        port = {"name": "peers", "number": PEERS_PORT}
        services.append(
            {"name": names.of_member(plan.name, among), "ports": [port], "unready": True}
        )
    grace = plan.spec.kafka.termination_grace_period_seconds if broker else ZOOKEEPER_GRACE
    objects = render(
        "member.yaml.j2",
        name=name,
        member=one.member,
        container=one.kind,
        image=plan.images["kafka"],
        java=_kafka_command() if broker else _zookeeper_command(),
        myid=None if broker else one.ordinal + 1,
        own_host=names.host(plan.name, among, plan.namespace) if broker else None,
        replicas=replicas,
        storage=kind.storage,
        resources=kind.resources.dump(),
        grace_seconds=grace,
        services=services,
        told_port=KAFKA_PORT if broker else None,
        selector=selector(plan, member=one.member),
        affinity=_affinity(plan, one),
        files=_broker_files(plan, one) if broker else _zookeeper_files(plan),
        scripts=names.scripts(plan.name),
    )
    return decorate(objects, plan, Component(one.kind), one.member, pull)


def budgets(plan: Plan) -> list[Json]:
    """One PodDisruptionBudget for the brokers, one for ZooKeeper: a member at a time."""
    found: list[Json] = []
    for component, short, count in (
        (Component.KAFKA, "kafka", len(plan.brokers)),
        (Component.ZOOKEEPER, "zk", len(plan.zookeepers)),
    ):
        objects = render(
            "budget.yaml.j2",
            name=f"{plan.name}-{short}",
            min_available=count - 1,
            selector=selector(plan, component=component),
        )
        found.extend(decorate(objects, plan, component))
    return found


def _java(heap_mib: int, *options: str) -> list[str]:
    return [
        "java",
        f"-Xms{heap_mib // 2}m",
        f"-Xmx{heap_mib}m",
        COMPILER,
        *options,
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.awt.headless=true",
        "-Dlog4j.configuration=file:/krt/config/log4j.properties",
        "-cp",
        "/opt/kafka/libs/*",
    ]


def _kafka_command() -> list[str]:
    return [*_java(KAFKA_HEAP_MIB), "kafka.Kafka", "/krt/config/server.properties"]


def _zookeeper_command() -> list[str]:
    return [
        *_java(ZOOKEEPER_HEAP_MIB, "-XX:+UseSerialGC", "-Dzookeeper.admin.enableServer=false"),
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        "/krt/config/zoo.cfg",
    ]


def _broker_files(plan: Plan, one: Member) -> dict[str, str]:
    among = names.host(plan.name, names.peers(one.member), plan.namespace)
    here, peers = f"{one.host}:{KAFKA_PORT}", f"{among}:{PEERS_PORT}"
    settings = {
        **plan.broker_config,
        "broker.id": str(one.ordinal),
        "broker.rack": one.zone,
        # By one listener of the same address brokers could only reach each other where clients may.
        "listeners": f"PLAINTEXT://:{KAFKA_PORT},PEERS://:{PEERS_PORT}",
        "advertised.listeners": f"PLAINTEXT://{here},PEERS://{peers}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PEERS:PLAINTEXT",
        "inter.broker.listener.name": "PEERS",
        "log.dirs": "/data/kafka",
        "zookeeper.connect": plan.zookeeper,
    }
    return {"server.properties": properties(settings), "log4j.properties": LOG4J}


def _zookeeper_files(plan: Plan) -> dict[str, str]:
    settings = {
        **plan.zookeeper_config,
        "dataDir": "/data/zookeeper",
        "clientPort": str(ZOOKEEPER_PORT),
        # A server knows itself by its service's address, which is no address of its pod.
        "quorumListenOnAllIPs": "true",
    }
    if len(plan.zookeepers) > 1:
        for peer in plan.zookeepers:
            settings[f"server.{peer.ordinal + 1}"] = f"{peer.host}:{QUORUM_PORT}:{ELECTION_PORT}"
    return {"zoo.cfg": properties(settings), "log4j.properties": LOG4J}


def properties(settings: Mapping[str, str]) -> str:
    """A Java property file; keys sorted, so that the same settings are the same bytes."""
    lines = (f"{key}={_escaped(value)}\n" for key, value in sorted(settings.items()))
    return "".join(lines)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _affinity(plan: Plan, one: Member) -> Json:
    """Bound to its zone; no two of a kind on a host; brokers and ZooKeeper apart as asked."""
    away: list[Json] = [_apart(plan, Component(one.kind))]
    preferred: list[Json] = []
    kafka = one.kind is MemberKind.KAFKA
    other = Component.ZOOKEEPER if kafka else Component.KAFKA
    match plan.spec.placement.separate_zookeeper:
        case Separation.REQUIRED:
            away.append(_apart(plan, other))
        case Separation.PREFERRED:
            preferred.append({"weight": 100, "podAffinityTerm": _apart(plan, other)})
        case Separation.IGNORED:
            pass
    anti: Json = {"requiredDuringSchedulingIgnoredDuringExecution": away}
    if preferred:
        anti["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    key = plan.spec.kafka.rack.topology_key
    zone = {"matchExpressions": [{"key": key, "operator": "In", "values": [one.zone]}]}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [zone]}
        },
        "podAntiAffinity": anti,
    }


def _apart(plan: Plan, component: Component) -> Json:
    return {
        "labelSelector": {"matchLabels": selector(plan, component=component)},
        "topologyKey": HOST,
    }
