"""When the cluster has recovered from a fault, and what keeps it from that.

Each check returns what is missing as a sentence, empty when nothing is. A run makes them in this
order and stops at the first that finds something, so that Kafka is asked only once all pods are
ready.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from krt_contract.members import broker_of
from krt_contract.metadata import MetadataMode
from krt_operator.api.spec import Isolation
from krt_operator.build.traffic import traffic_pods
from krt_operator.engine.views import PodView
from krt_operator.health.cluster import relevant_partitions
from krt_operator.health.quorum import missing_voter
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Consumer
    from krt_operator.api.status import FaultStatus
    from krt_operator.engine.progress import Observed
    from krt_operator.engine.views import Json
    from krt_operator.kafka.views import Bounds, ClusterView, GroupView

LAG_SECONDS: Final = 3
"""Seconds of traffic a group may be behind and still count as caught up: consumers commit every
0.5 s at the latest, and records in flight between a commit and the two readings add to the lag."""

LAG_FLOOR: Final = 100
"""Records a group may always be behind, for traffic so slow that LAG_SECONDS of it are few."""

SESSION_MARGIN: Final = timedelta(seconds=2)
"""Time beyond the session timeout until ZooKeeper has expired a dead broker: one tick of 2 s. A
KRaft controller fences one up to 0.7 s late (measured)."""

SUCCESSION: Final = timedelta(seconds=3)
"""Time until a quorum whose leader ended silently has another one, 1.9 to 2.2 s (measured). The new
leader gives every broker a fresh session."""


def sessions_expired_at(entry: FaultStatus, plan: Plan) -> datetime | None:
    """Until when the cluster's metadata may still show a silent broker as alive.

    A broker that ends silently stays leader and in sync until its session with ZooKeeper, or with
    the KRaft controllers, expires, so metadata from before that proves nothing. None where the
    fault has no broker as its target, or has not been injected.
    """
    hits_broker = any(broker_of(target.member) is not None for target in entry.targets)
    if entry.injected_at is None or not hits_broker:
        return None
    margin = SESSION_MARGIN
    if plan.metadata.mode is MetadataMode.KRAFT:
        # Another fault may take the leader at the same time.
        margin += SUCCESSION
    return entry.injected_at + plan.broker_session.delta + margin


def missing_pod(
    plan: Plan, pods: Mapping[str, Json], down: frozenset[str], replaced: frozenset[str]
) -> str:
    """Which member or traffic pod is not ready although no fault keeps it down.

    Args:
        plan: the run's members and traffic.
        pods: the run's pods by name.
        down: members that open faults keep down.
        replaced: uids of pods that a fault took away; a pod with such a uid is the old one.
    """
    expected = [(member.member, member.pod) for member in plan.members]
    expected += [(traffic_pod.member, traffic_pod.pod) for traffic_pod in traffic_pods(plan)]
    return _missing_pod(expected, pods, down, replaced)


def missing_broker_pod(
    entry: FaultStatus, pods: Mapping[str, Json], down: frozenset[str], replaced: frozenset[str]
) -> str:
    """Which pod of somebody else's broker that a fault hit is not ready.

    Whoever creates it again gives it the same name, because the manager is known to do so.

    Args:
        entry: the journal of the fault.
        pods: the pods of the brokers, by name.
        down: brokers that open faults keep from answering.
        replaced: uids of pods that a fault took away.
    """
    expected = [(target.member, target.pod) for target in entry.referenced_brokers.values()]
    return _missing_pod(expected, pods, down, replaced)


def _missing_pod(
    expected: Iterable[tuple[str, str]],
    pods: Mapping[str, Json],
    down: frozenset[str],
    replaced: frozenset[str],
) -> str:
    for member_name, name in expected:
        if member_name in down:
            continue
        pod = PodView(pods[name]) if name in pods else None
        if pod is None or pod.uid in replaced:
            return f"pod {name} is not back"
        if pod.deleting:
            return f"pod {name} is being deleted"
        if not pod.ready:
            return f"pod {name} is not ready"
    return ""


def missing_replica(
    plan: Plan, view: ClusterView, down: frozenset[str], hit: frozenset[int] = frozenset()
) -> str:
    """What the metadata lacks: a broker, the controller, a leader, a replica in sync.

    Replicas on brokers that another fault keeps down are not waited for.

    Args:
        plan: the run's members.
        view: the cluster's metadata.
        down: members that open faults keep down.
        hit: brokers of somebody else that the fault hit.
    """
    unavailable = {broker for member in down if (broker := broker_of(member)) is not None}
    expected = ({broker.ordinal for broker in plan.brokers} | hit) - unavailable
    unregistered = sorted(expected - view.broker_ids)
    if unregistered:
        fenced = plan.metadata.mode is MetadataMode.KRAFT
        return f"broker {unregistered[0]} is {'fenced' if fenced else 'not registered'}"
    if view.controller == NO_BROKER:
        return "Kafka has no controller"
    voter = missing_voter(plan, view, down)
    if voter:
        return voter
    for partition in relevant_partitions(plan, view):
        if partition.leader == NO_BROKER:
            return f"partition {partition.name} has no leader"
        out = sorted(set(partition.replicas) - unavailable - set(partition.isr))
        if out:
            return f"broker {out[0]} is not in the ISR of partition {partition.name}"
    return ""


def missing_move(
    partitions: Iterable[tuple[str, int]], replicas: Sequence[int], view: ClusterView
) -> str:
    """Which of these partitions does not have these replicas yet."""
    for topic, number in partitions:
        partition = view.partition(topic, number)
        if partition is None or set(partition.replicas) != set(replicas):
            has = "none" if partition is None else list(partition.replicas)
            return f"partition {topic}-{number} has replicas {has}, not {list(replicas)}"
    return ""


def unsettled_group(
    plan: Plan,
    consumer: Consumer,
    group: GroupView,
    bounds: Iterable[Bounds],
    down: frozenset[str],
) -> str:
    """Whether a group is unstable, has too few or too many members, or is behind."""
    expected = sum(
        f"consumer-{consumer.name}-{replica}" not in down for replica in range(consumer.replicas)
    )
    if expected == 0:
        return ""
    if not group.stable:
        return f"group {group.group} is in state {group.state}"
    if len(group.members) != expected:
        return f"group {group.group} has {len(group.members)} members of {expected}"
    lag = sum(
        max(
            0,
            _end(reading, consumer)
            - group.committed.get((reading.topic, reading.partition), reading.log_start),
        )
        for reading in bounds
        if reading.topic in consumer.topics
    )
    rate = sum(_rate(plan, topic) for topic in consumer.topics)
    limit = max(LAG_FLOOR, rate * LAG_SECONDS)
    return f"group {group.group} is {lag} records behind" if lag > limit else ""


def _end(bounds: Bounds, consumer: Consumer) -> int:
    """The offset up to which the group can read; an open transaction bounds read_committed."""
    committed = consumer.isolation is Isolation.READ_COMMITTED
    return bounds.last_stable if committed else bounds.high_watermark


def _rate(plan: Plan, topic: str) -> int:
    """Records per second that producers, or consumers with an output, write to a topic.

    A consumer with an output writes one record for each it reads, and none reads another's output.
    """
    traffic = plan.spec.traffic
    inputs = {
        source: None
        for consumer in traffic.consumers
        if consumer.output is not None and consumer.output.topic == topic
        for source in consumer.topics
    }
    return sum(
        producer.records_per_second * producer.replicas
        for written in (topic, *inputs)
        for producer in traffic.producers
        if producer.topic == written
    )


def not_running(plan: Plan, entry: FaultStatus, observed: Observed, down: frozenset[str]) -> str:
    """Which member the Kubernetes cluster, rather than Kafka, keeps from running.

    A container that starts and fails counts against Kafka. One that never starts (unschedulable,
    image, volume) does not, nor does one whose node is lost.
    """
    expected = [(member.member, member.pod, observed.pods) for member in plan.members]
    expected += [
        (target.member, target.pod, observed.broker_pods)
        for target in entry.referenced_brokers.values()
    ]
    for member, name, pods in expected:
        if member in down:
            continue
        if name not in pods:
            return f"pod {name} does not exist"
        pod = PodView(pods[name])
        if not pod.containers:
            return f"pod {pod.name} is {_not_started(pod)}"
        if pod.out_of_contact:
            return (
                f"pod {pod.name} is of a node that does not report: {pod.node} is down, or its "
                "kubelet or network is"
            )
        waiting = pod.containers[0].waiting
        if waiting is not None and waiting.reason != "CrashLoopBackOff":
            return f"pod {pod.name} waits: {waiting.reason or 'unknown'}"
    return ""


def _not_started(pod: PodView) -> str:
    unscheduled = pod.condition("PodScheduled", "False")
    if unscheduled is None:
        return "not started"
    return f"not scheduled: {unscheduled.message or 'no reason given'}"
