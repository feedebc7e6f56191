"""What a member's process is started with: its command and its configuration files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.members import MemberKind
from krt_operator.build.listeners import broker_listeners, controller_listeners
from krt_operator.build.properties import properties
from krt_operator.build.zookeeper_tls import client_settings, server_settings
from krt_operator.constants import (
    ELECTION_PORT,
    HEAP_SHARE,
    QUORUM_PORT,
    UNLIMITED_HEAP_MIB,
)

if TYPE_CHECKING:
    from krt_contract.members import Member
    from krt_operator.api.plan import Plan
    from krt_operator.api.resources import Resources

SERVER_PROPERTIES: Final = "/krt/config/server.properties"
"""Settings of a broker or KRaft controller, in its container."""

LOG_DIRECTORY: Final = "/data/kafka"
"""Folder of a broker's logs; in KRaft mode, of every member's copy of the metadata log, too."""

SERIAL: Final = "-XX:+UseSerialGC"

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


LOG4J2: Final = """\
status=warn
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d{yyyy-MM-dd HH:mm:ss,SSS}] %p %m (%c)%n%ex
appender.errors.type=RollingFile
appender.errors.name=errors
appender.errors.fileName=/run/krt/errors.log
appender.errors.filePattern=/run/krt/errors.log.%i
appender.errors.filter.threshold.type=ThresholdFilter
appender.errors.filter.threshold.level=ERROR
appender.errors.policies.type=Policies
appender.errors.policies.size.type=SizeBasedTriggeringPolicy
appender.errors.policies.size.size=64KB
appender.errors.strategy.type=DefaultRolloverStrategy
appender.errors.strategy.max=1
appender.errors.layout.type=PatternLayout
appender.errors.layout.pattern=[%d{yyyy-MM-dd HH:mm:ss,SSS}] %p %m (%c)%n%ex
rootLogger.level=INFO
rootLogger.appenderRef.out.ref=out
rootLogger.appenderRef.errors.ref=errors
logger.requests.name=kafka.request.logger
logger.requests.level=WARN
"""
"""The same for log4j 2, which Kafka 4 has instead. `%ex`: the plain stack, as log4j 1 writes it."""


def build_command(kind: MemberKind, resources: Resources, *, kraft: bool) -> list[str]:
    """The command of a member's process.

    Args:
        kind: what the member runs.
        resources: of its container; half of the memory limit is the heap.
        kraft: whether the cluster is in KRaft mode, and may be of Kafka 4.
    """
    limit = resources.memory_limit_mib
    heap = UNLIMITED_HEAP_MIB if limit is None else int(limit * HEAP_SHARE)
    match kind:
        case MemberKind.KAFKA:
            return [*_java(heap, kraft=kraft), "kafka.Kafka", SERVER_PROPERTIES]
        case MemberKind.CONTROLLER:
            java = _java(heap, SERIAL, kraft=kraft)
            return [*java, "kafka.Kafka", SERVER_PROPERTIES]
        case MemberKind.ZOOKEEPER:
            java = _java(heap, SERIAL, "-Dzookeeper.admin.enableServer=false")
            return [
                *java,
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                "/krt/config/zoo.cfg",
            ]


def build_files(plan: Plan, member: Member) -> dict[str, str]:
    """A member's configuration files by name."""
    logging = {"log4j.properties": LOG4J}
    if plan.spec.kraft:
        # Which one is read depends on the image's version of Kafka.
        logging["log4j2.properties"] = LOG4J2
    match member.kind:
        case MemberKind.KAFKA:
            return {"server.properties": _broker_properties(plan, member), **logging}
        case MemberKind.CONTROLLER:
            return {"server.properties": _controller_properties(plan, member), **logging}
        case MemberKind.ZOOKEEPER:
            return {"zoo.cfg": _zookeeper_properties(plan), **logging}


def _java(heap_mib: int, *options: str, kraft: bool = False) -> list[str]:
    return [
        "java",
        f"-Xms{heap_mib // 2}m",
        f"-Xmx{heap_mib}m",
        COMPILER,
        *options,
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.awt.headless=true",
        "-Dlog4j.configuration=file:/krt/config/log4j.properties",
        *(["-Dlog4j2.configurationFile=/krt/config/log4j2.properties"] if kraft else []),
        "-cp",
        "/opt/kafka/libs/*",
    ]


def _broker_properties(plan: Plan, member: Member) -> str:
    settings = {
        **plan.broker_config,
        **broker_listeners(plan, member),
        "broker.rack": member.zone,
        "log.dirs": LOG_DIRECTORY,
    }
    if not plan.spec.kraft:
        settings |= {"broker.id": str(member.node_id), "zookeeper.connect": plan.zookeeper}
        return properties(settings | client_settings(plan))
    return properties(settings | {"process.roles": "broker"} | _quorum(plan, member))


def _controller_properties(plan: Plan, member: Member) -> str:
    return properties(
        {
            **plan.controller_config,
            "process.roles": "controller",
            **controller_listeners(plan, member),
            "log.dirs": LOG_DIRECTORY,
            **_quorum(plan, member),
        }
    )


def _quorum(plan: Plan, member: Member) -> dict[str, str]:
    voters = (f"{voter.node_id}@{voter.address}" for voter in plan.controllers)
    return {
        "node.id": str(member.node_id),
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(voters),
    }


def _zookeeper_properties(plan: Plan) -> str:
    settings = {
        **plan.zookeeper_config,
        "dataDir": "/data/zookeeper",
        **server_settings(plan),
        # A server is listed by its Service's address, which is not an address of its pod.
        "quorumListenOnAllIPs": "true",
    }
    if len(plan.zookeepers) > 1:
        for peer in plan.zookeepers:
            settings[f"server.{peer.node_id}"] = f"{peer.host}:{QUORUM_PORT}:{ELECTION_PORT}"
    return properties(settings)
