"""Make the plan from a resolved spec and the zones of the nodes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.entries import Topic
from krt_contract.members import Member, MemberKind, join_addresses, member_name
from krt_contract.metadata import Metadata, MetadataMode
from krt_operator import names
from krt_operator.api.plan import Plan
from krt_operator.api.pods import PullSecret
from krt_operator.kafka.assignment import spread
from krt_operator.plan import evidence_place
from krt_operator.plan.cluster_id import cluster_id
from krt_operator.plan.member_config import broker_config, controller_config, zookeeper_config
from krt_operator.plan.reference import NO_EXPIRY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_operator.api import kafka as api
    from krt_operator.api.spec import Spec
    from krt_operator.app.settings import Settings
    from krt_operator.engine.progress import Run
    from krt_operator.plan.reference import ReferencedCluster


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
    reference: ReferencedCluster | None = None,
) -> Plan:
    """Resolve everything once.

    Args:
        run: the test.
        zones: zones of the brokers and of the servers of the metadata, by ordinal.
        settings: the installation's images.
        versions: of the operator and of Kubernetes.
        reference: the cluster of `spec.kafkaRef`; None where the test deploys its own.

    Raises:
        UserError: as of `evidence_place.resolve`.
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

    spec = run.spec
    brokers, servers = zones
    racks = dict(enumerate(brokers)) if reference is None else reference.spread_over
    topics = tuple(
        _topic(topic, racks, place, reference) for place, topic in enumerate(spec.topics)
    )
    kafka = tuple(member(MemberKind.KAFKA, i, zone) for i, zone in enumerate(brokers))
    kind = MemberKind.CONTROLLER if spec.kraft else MemberKind.ZOOKEEPER
    ensemble = tuple(member(kind, i, zone) for i, zone in enumerate(servers))
    cluster = (
        _deployed(run, (*kafka, *ensemble))
        if spec.kafka_ref is None or reference is None
        else _referenced(reference, spec.kafka_ref.bootstrap)
    )
    return Plan(
        namespace=run.namespace,
        name=run.name,
        uid=run.uid,
        seed=spec.seed,
        resolved_spec=with_pull_secrets(spec, settings.image_pull_secrets)
        .model_copy(update={"evidence": evidence_place.resolve(run, settings)})
        .dump(),
        topics=topics,
        **cluster,
        images={
            "operator": settings.image_operator,
            "traffic": settings.image_traffic,
            "scoring": settings.image_scoring,
            "kafka": spec.kafka.image
            or (spec.kraft and settings.image_kafka_kraft)
            or settings.image_kafka,
        },
        versions=versions,
    )


def _topic(
    topic: api.Topic, racks: Mapping[int, str], place: int, reference: ReferencedCluster | None
) -> Topic:
    """A topic of the plan: as it is to be created, or as it was found.

    Args:
        topic: as the resource has it.
        racks: broker id → what replicas are spread over.
        place: its number; preferred leaders of the next topic begin one broker later.
        reference: the cluster of `spec.kafkaRef`; None where the test deploys its own.
    """
    if topic.adopt and reference is not None:
        return reference.adopted[topic.name].planned(topic.name)
    layout = spread(racks, topic.partitions, topic.replication_factor, start=place)
    return Topic(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        config=topic.config if reference is None else {**topic.config, **NO_EXPIRY},
        assignment={partition: tuple(ids) for partition, ids in layout.items()},
    )


def _deployed(run: Run, members: Sequence[Member]) -> dict[str, Any]:
    """The attributes of the plan that say what the test deploys."""
    spec = run.spec
    brokers = [item for item in members if item.kind is MemberKind.KAFKA]
    servers = [item for item in members if item.kind is MemberKind.ZOOKEEPER]
    return {
        "bootstrap": join_addresses(brokers),
        "zookeeper": join_addresses(servers),
        "members": tuple(members),
        "metadata": Metadata(spec.kafka.metadata.mode, cluster_id(run.uid) if spec.kraft else ""),
        "broker_config": broker_config(spec),
        "zookeeper_config": {} if spec.kraft else zookeeper_config(spec),
        "controller_config": controller_config(spec) if spec.kraft else {},
    }


def _referenced(reference: ReferencedCluster, bootstrap: str) -> dict[str, Any]:
    """The attributes of the plan that say how somebody else's cluster is reached."""
    mode = MetadataMode.KRAFT if reference.kraft else MetadataMode.ZOOKEEPER
    return {
        "bootstrap": bootstrap,
        "metadata": Metadata(mode, referenced=True),
        "broker_config": reference.config,
    }
