"""What the phases do on a cluster that somebody else runs: look, create topics, delete them.

The controller creates what the test names and nothing else, and only what was not there before.
That it does is in the journal first (`status.kafkaObjects`), so a controller that was killed
between the two neither refuses its own topics nor leaves them behind. A topic that the test adopts
is only looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import ConditionStatus, ConditionType, KafkaObjects, Phase
from krt_operator.engine import journal
from krt_operator.engine.certificates import check_certificates
from krt_operator.engine.login import read_login
from krt_operator.engine.progress import Deletion, Event, Progress, SideEffect
from krt_operator.errors import KafkaAccessError, KafkaUnreachableError, TransientError, UserError
from krt_operator.health import cluster
from krt_operator.kafka.views import NO_BROKER
from krt_operator.phases.topics import create_missing_topics
from krt_operator.phases.waiting import wait_for_cluster
from krt_operator.plan.adoption import ExistingTopic
from krt_operator.plan.reference import ReferencedCluster, refuse_existing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Spec
    from krt_operator.api.status import Status
    from krt_operator.engine.kafka import Kafka
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed, Run
    from krt_operator.engine.views import Json
    from krt_operator.kafka.views import ClusterView


def read_reference(spec: Spec, ports: Ports) -> ReferencedCluster | None:
    """Look at the cluster before anything is built; None where the test deploys its own.

    Raises:
        KafkaUnreachableError: no broker answered.
        KafkaAccessError: the cluster lets nobody in.
    """
    if spec.kafka_ref is None:
        return None
    servers = spec.kafka_ref.bootstrap
    login = read_login(spec, ports.cluster)
    check_certificates(login, ports.clock.now())
    kafka = ports.kafka(servers, login)
    try:
        with kafka:
            return _look(spec, kafka)
    except TransientError as error:
        refusal = kafka.refusal()
        if refusal is not None:
            raise KafkaAccessError(
                "KafkaAuthenticationFailed", refusal.field, refusal.message
            ) from error
        raise KafkaUnreachableError(f"{servers}: {error}") from error


def _look(spec: Spec, kafka: Kafka) -> ReferencedCluster:
    view = kafka.view()
    if not view.brokers:
        raise TransientError("no broker is registered")
    return ReferencedCluster(
        racks=kafka.racks(),
        settings=kafka.changed_broker_config(min(view.broker_ids)),
        topics=frozenset(partition.topic for partition in view.partitions),
        groups=existing_groups(spec, kafka),
        brokers=view.brokers,
        adopted=_adopted(spec, kafka, view),
    )


def _adopted(spec: Spec, kafka: Kafka, view: ClusterView) -> Mapping[str, ExistingTopic]:
    """The topics that the test adopts, as far as they are there."""
    names = {topic.name for topic in spec.topics if topic.adopt}
    found = {name: [item for item in view.partitions if item.topic == name] for name in names}
    there = sorted(name for name, partitions in found.items() if partitions)
    if not there:
        return {}
    led = [name for name in there if all(item.leader != NO_BROKER for item in found[name])]
    settings = kafka.topic_configs(there)
    bounds = kafka.bounds(led) if led else []
    return {
        name: ExistingTopic(
            partitions=tuple(sorted(found[name], key=lambda item: item.partition)),
            settings=settings[name],
            bounds=tuple(bound for bound in bounds if bound.topic == name),
        )
        for name in there
    }


def existing_groups(spec: Spec, kafka: Kafka) -> frozenset[str]:
    """The groups of the test that have members or commits."""
    views = [kafka.group(consumer.group) for consumer in spec.traffic.consumers]
    return frozenset(view.group for view in views if view.members or view.committed)


def join_reference(
    run: Run, plan: Plan, observed: Observed, ports: Ports, desired: Sequence[Json]
) -> Progress:
    """Create the topics of the test on the cluster; enter Warmup when they are replicated.

    Raises:
        UserError: a topic or group is there already, or Kafka refuses a topic.
    """
    names = [topic.name for topic in plan.topics]
    adopted = [topic.name for topic in plan.topics if topic.adopted]
    created = [name for name in names if name not in adopted]
    groups = [consumer.group for consumer in run.spec.traffic.consumers]
    try:
        with ports.connect(plan, plan.bootstrap) as kafka:
            view = kafka.view()
            if run.status.kafka_objects is None:
                known = frozenset(partition.topic for partition in view.partitions)
                refuse_existing(run.spec, known, existing_groups(run.spec, kafka))
                ours = KafkaObjects(topics=tuple(created), groups=tuple(groups))
                intents = (journal.put(kafka_objects=ours),)
                return Progress(requeue_after=0, apply=tuple(desired), intents=intents)
            incomplete = create_missing_topics(kafka, plan, view)
            if incomplete:
                return wait_for_cluster(run, observed, incomplete, desired)
            effective = kafka.topic_configs(names)
            lacking = kafka.missing_rights(created, adopted, groups)
    except TransientError as error:
        message = f"waiting for Kafka to answer: {error}"
        return wait_for_cluster(run, observed, message, desired)
    if lacking:
        raise UserError(
            "KafkaNotAuthorized",
            "spec.kafkaRef",
            f"the user of the test lacks {', '.join(lacking)}; give it these rights: "
            "docs/how-to/existing-kafka.md lists all that it needs",
        )
    cluster.check_min_insync(plan, effective)
    topics = ", ".join(
        f"{item.name} {item.partitions}x{item.replication_factor}"
        f"{' (adopted)' if item.adopted else ''}"
        for item in plan.topics
    )
    message = f"connected to {plan.bootstrap}: {len(view.brokers)} brokers; topics {topics}"
    condition = journal.set_condition(
        ConditionType.PROVISIONED, ConditionStatus.TRUE, "ClusterReady", message, at=observed.at
    )
    return Progress(
        requeue_after=0,
        next_phase=Phase.WARMUP,
        apply=tuple(desired),
        changes=(condition,),
        events=(Event("Provisioned", message),),
    )


def deletion_of_kafka_objects(spec: Spec, status: Status) -> SideEffect | None:
    """What deletes topics and groups of the test; None where there are none.

    No producer may run any more: many clusters create a topic again that a client asks for.
    """
    created, reference = status.kafka_objects, spec.kafka_ref
    if created is None or reference is None:
        return None

    named = ", ".join((*created.topics, *created.groups))

    def perform(ports: Ports) -> Sequence[Change]:
        servers = reference.bootstrap
        try:
            with ports.kafka(servers, read_login(spec, ports.cluster)) as kafka:
                refused = _delete_topics(kafka, created.topics)
                kafka.delete_groups(created.groups)
        except TransientError as error:
            raise TransientError(f"{named} are not deleted at {servers}: {error}") from error
        if refused is not None:
            raise refused
        return (journal.put(kafka_objects=None),)

    return SideEffect(f"delete topics and groups {named}", perform)


def _delete_topics(kafka: Kafka, topics: Sequence[str]) -> UserError | None:
    """Delete topics; return what the cluster refused, so that groups are deleted all the same."""
    try:
        if topics:
            kafka.delete_topics(topics)
    except UserError as error:
        return error
    return None


def release(run: Run, observed: Observed, ports: Ports) -> str:
    """Delete what a test that is being deleted has on the cluster; return what it waits for.

    Its pods are deleted first, and at once: nothing of the test is judged any more.

    Raises:
        KrtError: Kafka or the API server did not carry it out.
    """
    effect = deletion_of_kafka_objects(run.spec, run.status)
    if effect is None:
        return ""
    pods = observed.pod_views()
    for pod in pods:
        if not pod.deleting:
            ports.cluster.delete(Deletion("Pod", pod.name, pod.uid, grace_seconds=0))
    running = [pod.name for pod in pods if not pod.ended]
    if running:
        return f"pod {running[0]} still runs"
    effect.perform(ports)
    return ""
