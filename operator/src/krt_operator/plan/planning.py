"""Make the plan from a resolved spec and the zones of the nodes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.entries import Topic
from krt_contract.members import Member, MemberKind, join_addresses, member_name
from krt_contract.settings import ZOOKEEPER_SESSION, ZOOKEEPER_SESSION_DEFAULT_MS
from krt_operator import names
from krt_operator.api.plan import Plan
from krt_operator.api.pods import PullSecret
from krt_operator.constants import (
    INTERNAL_REPLICAS,
    TICK_MILLIS,
    TICK_SETTING,
    ZOOKEEPER_CONNECT_MILLIS,
)
from krt_operator.kafka.assignment import spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_operator.api.spec import Spec
    from krt_operator.app.settings import Settings
    from krt_operator.engine.progress import Run

KAFKA_LINE: Final = "3.9"
"""The last Kafka with ZooKeeper mode; the exact version is the image's."""


def broker_config(spec: Spec) -> dict[str, str]:
    """Settings of every broker that differ from Kafka's defaults, the user's last.

    The internal topics are kept safe whatever the settings of the test are: a lost offset commit
    would otherwise look like a redelivery that the configuration under test caused.
    """
    replicas = min(INTERNAL_REPLICAS, spec.kafka.replicas)
    in_sync = max(1, replicas - 1)
    ours = {
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        "zookeeper.connection.timeout.ms": str(ZOOKEEPER_CONNECT_MILLIS),
    }
    return {**ours, **spec.kafka.config}


def zookeeper_config(spec: Spec) -> dict[str, str]:
    """Settings of every ZooKeeper server beyond those that form the quorum, the user's last."""
    ours = {
        TICK_SETTING: str(TICK_MILLIS),
        **_session_bounds(spec),
        "initLimit": "10",
        "syncLimit": "5",
        "autopurge.purgeInterval": "0",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "srvr,ruok,mntr",
    }
    return {**ours, **spec.zookeeper.config}


def _session_bounds(spec: Spec) -> dict[str, str]:
    """Session bounds that include the session timeout the brokers request.

    ZooKeeper silently clamps a request to its bounds, 2 and 20 ticks by default.
    """
    requested = int(spec.kafka.config.get(ZOOKEEPER_SESSION, ZOOKEEPER_SESSION_DEFAULT_MS))
    tick = int(spec.zookeeper.config.get(TICK_SETTING, TICK_MILLIS))
    if requested < 2 * tick:
        return {"minSessionTimeout": str(requested)}
    if requested > 20 * tick:
        return {"maxSessionTimeout": str(requested)}
    return {}


def with_pull_secrets(spec: Spec, names: Sequence[str]) -> Spec:
    """The spec with the installation's pull secrets, where it has none of its own."""
    template = spec.pod_template
    if template.image_pull_secrets or not names:
        return spec
    secrets = tuple(PullSecret(name=name) for name in names)
    return spec.model_copy(
        update={"pod_template": template.model_copy(update={"image_pull_secrets": secrets})}
    )


def make_plan(
    run: Run,
    zones: tuple[Sequence[str], Sequence[str]],
    settings: Settings,
    versions: Mapping[str, str],
) -> Plan:
    """Resolve everything once.

    Args:
        run: the test.
        zones: zones of the brokers and of the ZooKeeper servers, by ordinal.
        settings: the installation's images.
        versions: of the operator and of Kubernetes.
    """

    def member(kind: MemberKind, ordinal: int, zone: str) -> Member:
        name = member_name(kind, ordinal)
        return Member(
            member=name,
            kind=kind,
            ordinal=ordinal,
            zone=zone,
            pod=names.member_pod(run.name, name),
            host=names.host(run.name, name, run.namespace),
        )

    brokers, zookeepers = zones
    racks = dict(enumerate(brokers))
    topics = tuple(
        Topic(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            config=topic.config,
            assignment={
                partition: tuple(ids)
                for partition, ids in spread(
                    racks, topic.partitions, topic.replication_factor, start=place
                ).items()
            },
        )
        for place, topic in enumerate(run.spec.topics)
    )
    kafka = tuple(member(MemberKind.KAFKA, i, zone) for i, zone in enumerate(brokers))
    zookeeper = tuple(member(MemberKind.ZOOKEEPER, i, zone) for i, zone in enumerate(zookeepers))
    return Plan(
        namespace=run.namespace,
        name=run.name,
        uid=run.uid,
        seed=run.spec.seed,
        resolved_spec=with_pull_secrets(run.spec, settings.image_pull_secrets).dump(),
        bootstrap=join_addresses(kafka),
        zookeeper=join_addresses(zookeeper),
        members=(*kafka, *zookeeper),
        broker_config=broker_config(run.spec),
        zookeeper_config=zookeeper_config(run.spec),
        topics=topics,
        images={
            "operator": settings.image_operator,
            "traffic": settings.image_traffic,
            "scoring": settings.image_scoring,
            "kafka": run.spec.kafka.image or settings.image_kafka,
        },
        versions={"kafka": KAFKA_LINE, **versions},
    )
