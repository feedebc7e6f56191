"""Brokers and ZooKeeper servers: one StatefulSet, Service, claim and ConfigMap each.

A broker has a second Service, by which the other brokers reach it before it is ready for clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.labels import Component
from krt_contract.members import KAFKA_PORT, ZOOKEEPER_PORT, MemberKind
from krt_operator import names
from krt_operator.api.spec import Separation
from krt_operator.build.decorate import decorate_objects, selector
from krt_operator.build.properties import properties
from krt_operator.build.render import render
from krt_operator.constants import (
    ELECTION_PORT,
    KAFKA_HEAP_MIB,
    PEERS_PORT,
    QUORUM_PORT,
    ZOOKEEPER_HEAP_MIB,
)

if TYPE_CHECKING:
    from krt_contract.members import Member
    from krt_operator.api.plan import Plan
    from krt_operator.engine.views import Json

HOST: Final = "kubernetes.io/hostname"
ZOOKEEPER_GRACE: Final = 5
"""Seconds that a deleted ZooKeeper server has to shut down; it has nothing to hand over."""

COMPILER: Final = "-XX:TieredStopAtLevel=1"
"""Only the JVM's quick compiler (C1): a member runs for minutes. With both compilers, compiling
took 8.0 of the 17 CPU seconds that three brokers used in the first 15 s of the sample's traffic,
and 3.8 of 13 a minute later (thread times in /proc)."""

LOG4J: Final = """\
log4j.rootLogger=INFO, out, errors
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d{ISO8601}] %p %m (%c)%n
log4j.appender.errors=org.apache.log4j.RollingFileAppender
log4j.appender.errors.Threshold=ERROR
log4j.appender.errors.File=/run/krt/errors.log
log4j.appender.errors.MaxFileSize=64KB
log4j.appender.errors.MaxBackupIndex=1
log4j.appender.errors.layout=org.apache.log4j.PatternLayout
log4j.appender.errors.layout.ConversionPattern=[%d{ISO8601}] %p %m (%c)%n
log4j.logger.org.apache.zookeeper.server.NIOServerCnxn=WARN
log4j.logger.kafka.request.logger=WARN
"""
"""Everything goes to stdout, where the recorder reads it; connections of probes are not logged.
Errors also go to a small file, in which `member.sh` looks for the cause of a failed start."""


def build_members(plan: Plan, pull_policy: str) -> list[Json]:
    """All objects of all members, every member running."""
    return [obj for member in plan.members for obj in build_member(plan, member, pull_policy)]


def build_member(plan: Plan, member: Member, pull_policy: str, replicas: int = 1) -> list[Json]:
    """The objects of one member.

    Args:
        plan: the run's plan.
        member: the broker or ZooKeeper server.
        pull_policy: `imagePullPolicy` of its containers.
        replicas: 0 while a fault keeps the member down, else 1.
    """
    broker = member.kind is MemberKind.KAFKA
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
    name, peers = names.of_member(plan.name, member.member), names.peers(member.member)
    services: list[Json] = [{"name": name, "ports": ports, "unready": not broker}]
    if broker:
        port = {"name": "peers", "number": PEERS_PORT}
        services.append(
            {"name": names.of_member(plan.name, peers), "ports": [port], "unready": True}
        )
    grace = plan.spec.kafka.termination_grace_period_seconds if broker else ZOOKEEPER_GRACE
    objects = render(
        "member.yaml.j2",
        name=name,
        member=member.member,
        container=member.kind,
        image=plan.images["kafka"],
        java=_kafka_command() if broker else _zookeeper_command(),
        myid=None if broker else member.ordinal + 1,
        own_host=names.host(plan.name, peers, plan.namespace) if broker else None,
        replicas=replicas,
        storage=kind.storage,
        resources=kind.resources.dump(),
        grace_seconds=grace,
        services=services,
        metadata_probe_port=KAFKA_PORT if broker else None,
        selector=selector(plan, member=member.member),
        affinity=_affinity(plan, member),
        files=_broker_files(plan, member) if broker else _zookeeper_files(plan),
        scripts=names.scripts(plan.name),
    )
    return decorate_objects(objects, plan, Component(member.kind), member.member, pull_policy)


def build_budgets(plan: Plan) -> list[Json]:
    """A PodDisruptionBudget for the brokers and one for ZooKeeper: one member at a time."""
    budgets: list[Json] = []
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
        budgets.extend(decorate_objects(objects, plan, component))
    return budgets


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


def _broker_files(plan: Plan, member: Member) -> dict[str, str]:
    peers_host = names.host(plan.name, names.peers(member.member), plan.namespace)
    clients, peers = f"{member.host}:{KAFKA_PORT}", f"{peers_host}:{PEERS_PORT}"
    settings = {
        **plan.broker_config,
        "broker.id": str(member.ordinal),
        "broker.rack": member.zone,
        # With one listener, brokers could reach each other only once they are ready for clients.
        "listeners": f"PLAINTEXT://:{KAFKA_PORT},PEERS://:{PEERS_PORT}",
        "advertised.listeners": f"PLAINTEXT://{clients},PEERS://{peers}",
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
        # A server is listed by its Service's address, which is not an address of its pod.
        "quorumListenOnAllIPs": "true",
    }
    if len(plan.zookeepers) > 1:
        for peer in plan.zookeepers:
            settings[f"server.{peer.ordinal + 1}"] = f"{peer.host}:{QUORUM_PORT}:{ELECTION_PORT}"
    return {"zoo.cfg": properties(settings), "log4j.properties": LOG4J}


def _affinity(plan: Plan, member: Member) -> Json:
    """Bound to the zone; no two of a kind on a node; ZooKeeper separated as the spec says."""
    required: list[Json] = [_not_with(plan, Component(member.kind))]
    preferred: list[Json] = []
    kafka = member.kind is MemberKind.KAFKA
    other = Component.ZOOKEEPER if kafka else Component.KAFKA
    match plan.spec.placement.separate_zookeeper:
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
