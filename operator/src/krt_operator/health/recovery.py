"""When the cluster is whole again after a fault, and whose it is when it is not.

Each check returns what is still lacking as a sentence, empty when nothing is; a run asks them in
this order and stops at the first that says something, so that Kafka is asked only once all pods
are ready.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from krt_operator.api.spec import Action, Isolation
from krt_operator.build.traffic import traffic_pods
from krt_operator.faults.partitions import target_partitions
from krt_operator.health.objects import condition
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krt_operator.api.spec import Consumer, Fault
    from krt_operator.api.status import FaultStatus
    from krt_operator.engine.ports import Json
    from krt_operator.kafka.views import Bounds, ClusterView, GroupView
    from krt_operator.plan.plan import Plan

LAG_SECONDS: Final = 3
"""Seconds of traffic a group may be behind and still count as caught up: consumers commit at most
every 0.5 s, and what is in flight between a commit and our two readings is more of the same."""

LAG_FLOOR: Final = 100
"""Records a group may always be behind, for traffic so slow that seconds of it are nothing."""

SESSION_MARGIN: Final = timedelta(seconds=2)
"""Beyond the session timeout until ZooKeeper has dropped a dead broker: one tick of 2 s."""

PING: Final = timedelta(seconds=10)
"""The longest a ZooKeeper client with nothing to say goes without a ping, unless a third of the
session is shorter (ClientCnxn.MAX_SEND_PING_INTERVAL). The session runs from the last one."""


def not_before(fault: Fault, entry: FaultStatus, plan: Plan) -> datetime | None:
    """Until when the cluster's metadata may still show a silent broker as alive.

    A killed broker stays registered, leader and in sync until its ZooKeeper session ends, so a
    view from before that proves nothing. A frozen one too, where it was frozen about as long as a
    session lasts from the last ping on. None where no broker was killed or frozen so long.
    """
    brokers = {one.member for one in plan.brokers}
    if entry.injected_at is None or not any(one.member in brokers for one in entry.targets):
        return None
    session = plan.zookeeper_session.delta
    frozen = fault.duration.delta
    match fault.action:
        case Action.CRASH_POD | Action.LOSE_DISK:
            silent = True
        case Action.FREEZE_POD:
            silent = frozen + min(PING, session / 3) >= session
        case _:
            silent = False
    return entry.injected_at + session + SESSION_MARGIN if silent else None


def lacking_pods(
    plan: Plan, pods: Mapping[str, Json], held: frozenset[str], replaced: frozenset[str]
) -> str:
    """Which member or traffic pod that nothing holds down is not ready.

    Args:
        plan: the run's members and traffic.
        pods: the run's pods by name.
        held: members that open faults hold down.
        replaced: uids of pods that a fault took away and that cannot be the ones to be ready.
    """
    wanted = [(one.member, one.pod) for one in plan.members]
    wanted += [(one.member, one.pod) for one in traffic_pods(plan)]
    for member, name in wanted:
        if member in held:
            continue
        pod = pods.get(name)
        if pod is None or pod["metadata"]["uid"] in replaced:
            return f"pod {name} is not back"
        if pod["metadata"].get("deletionTimestamp"):
            return f"pod {name} is being deleted"
        if condition(pod, "Ready") is None:
            return f"pod {name} is not ready"
    return ""


def lacking_cluster(plan: Plan, view: ClusterView, held: frozenset[str]) -> str:
    """Which broker is not registered, or which partition has no leader or a short ISR.

    Replicas on brokers that another fault holds down are not waited for.
    """
    down = {one.ordinal for one in plan.brokers if one.member in held}
    absent = sorted({one.ordinal for one in plan.brokers} - down - view.broker_ids)
    if absent:
        return f"broker {absent[0]} is not registered"
    if view.controller == NO_BROKER:
        return "Kafka has no controller"
    for partition in view.partitions:
        if partition.leader == NO_BROKER:
            return f"partition {partition.name} has no leader"
        out = sorted(set(partition.replicas) - down - set(partition.isr))
        if out:
            return f"partition {partition.name} lacks broker {out[0]} in its ISR"
    return ""


def lacking_move(fault: Fault, plan: Plan, view: ClusterView) -> str:
    """Which partition that the fault moves has other replicas yet than were asked for."""
    if fault.action is not Action.REASSIGN:
        return ""
    for topic, number in target_partitions(fault, plan):
        found = view.partition(topic, number)
        if found is None or set(found.replicas) != set(fault.target_replicas):
            has = "no" if found is None else list(found.replicas)
            return f"partition {topic}-{number} has {has} replicas, asked were {list(fault.target_replicas)}"
    return ""


def lacking_group(
    plan: Plan,
    consumer: Consumer,
    group: GroupView,
    bounds: Iterable[Bounds],
    held: frozenset[str],
) -> str:
    """Whether a group is unstable, has too few or too many members, or is behind."""
    expected = sum(
        f"consumer-{consumer.name}-{replica}" not in held for replica in range(consumer.replicas)
    )
    if expected == 0:
        return ""
    if not group.stable:
        return f"group {group.group} is {group.state.lower()}"
    if len(group.members) != expected:
        return f"group {group.group} has {len(group.members)} members of {expected}"
    lag = sum(
        max(0, _end(one, consumer) - group.committed.get((one.topic, one.partition), one.log_start))
        for one in bounds
        if one.topic in consumer.topics
    )
    rate = sum(_rate(plan, topic) for topic in consumer.topics)
    limit = max(LAG_FLOOR, rate * LAG_SECONDS)
    return f"group {group.group} is {lag} records behind" if lag > limit else ""


def _end(bounds: Bounds, consumer: Consumer) -> int:
    """Up to where the group can read: a read_committed one is held back by an open transaction."""
    committed = consumer.isolation is Isolation.READ_COMMITTED
    return bounds.last_stable if committed else bounds.high_watermark


def _rate(plan: Plan, topic: str) -> int:
    """Records a second that are written to a topic: sent by producers, or made by consumers.

    A group that makes records makes one of each it reads; the resource allows no chain of them.
    """
    traffic = plan.spec.traffic
    inputs = {
        source: None
        for one in traffic.consumers
        if one.output is not None and one.output.topic == topic
        for source in one.topics
    }
    return sum(
        producer.records_per_second * producer.replicas
        for written in (topic, *inputs)
        for producer in traffic.producers
        if producer.topic == written
    )


def not_running(plan: Plan, pods: Mapping[str, Json], held: frozenset[str]) -> str:
    """Which member is kept from running by the Kubernetes cluster rather than by Kafka.

    A container that starts and fails is Kafka's; one that never starts (unschedulable, image,
    volume) is not, and must not be counted against it.
    """
    for one in plan.members:
        if one.member in held:
            continue
        pod = pods.get(one.pod)
        if pod is None:
            return f"pod {one.pod} is not there"
        statuses = pod.get("status", {}).get("containerStatuses") or []
        if not statuses:
            return f"pod {one.pod} is {_unscheduled(pod)}"
        waiting = statuses[0].get("state", {}).get("waiting")
        if waiting is not None and waiting.get("reason") != "CrashLoopBackOff":
            return f"pod {one.pod} waits: {waiting.get('reason', 'unknown')}"
    return ""


def _unscheduled(pod: Json) -> str:
    refused = condition(pod, "PodScheduled", "False")
    if refused is None:
        return "not started"
    return f"not scheduled: {refused.get('message', 'no reason given')}"
