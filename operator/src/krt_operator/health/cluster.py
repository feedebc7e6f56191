"""Whether the cluster is as the plan says, judged from its pods and from Kafka's own metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.settings import MIN_INSYNC_REPLICAS
from krt_operator.api.spec import Separation
from krt_operator.errors import UserError
from krt_operator.health import pod_state
from krt_operator.health.quorum import missing_voter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from krt_operator.api.plan import Plan
    from krt_operator.engine.progress import Observed
    from krt_operator.health.member_startup import StartupFailure
    from krt_operator.kafka.views import ClusterView, Partition


def not_ready(plan: Plan, observed: Observed, failures: Sequence[StartupFailure]) -> str:
    """Which members' pods are not ready, as a sentence; empty when all are.

    Args:
        plan: the members.
        observed: their pods.
        failures: the members that failed to start: what keeps their pods is not repeated.
    """
    pods = {member.member: observed.pod(member.pod) for member in plan.members}
    missing = [name for name, pod in pods.items() if pod is None or not pod.ready]
    if not missing:
        return ""
    failed = {failure.member.member for failure in failures}
    others = [pod for name, pod in pods.items() if pod is not None and name not in failed]
    waiting = f"waiting for {', '.join(missing)}"
    return "; ".join([waiting, *pod_state.obstacles(others)])


def not_joined(plan: Plan, view: ClusterView) -> str:
    """Which brokers Kafka does not know yet; empty when all have joined."""
    missing = [broker.member for broker in plan.brokers if broker.ordinal not in view.broker_ids]
    return f"waiting for {', '.join(missing)} to join the cluster" if missing else ""


def no_quorum(plan: Plan, view: ClusterView) -> str:
    """What the quorum of the KRaft controllers lacks; empty where nothing, or with ZooKeeper."""
    if plan.controllers and view.quorum is None:
        return "waiting for the KRaft controllers to elect a leader"
    voter = missing_voter(plan, view, frozenset())
    return f"waiting for the quorum: {voter}" if voter else ""


def relevant_partitions(plan: Plan, view: ClusterView) -> tuple[Partition, ...]:
    """The partitions that the test depends on.

    On a cluster that somebody else runs these are the partitions of its own topics, elsewhere all,
    Kafka's internal topics included.
    """
    return _own_partitions(plan, view) if plan.metadata.referenced else view.partitions


def not_replicated(plan: Plan, view: ClusterView) -> str:
    """Which partitions have no leader or a short ISR; empty when all are fully replicated."""
    if len(_own_partitions(plan, view)) < sum(topic.partitions for topic in plan.topics):
        return "waiting for the topics to appear in the brokers' metadata"
    relevant = relevant_partitions(plan, view)
    short = [partition.name for partition in relevant if not partition.fully_replicated]
    return f"waiting for leaders and in-sync replicas of {', '.join(short[:8])}" if short else ""


def not_known(plan: Plan, known: Mapping[int, AbstractSet[tuple[str, int]]]) -> str:
    """Which partitions brokers do not know a leader of yet; empty when all know all.

    Clients get a topic's metadata from any broker and keep it for minutes: a producer that got half
    of a new topic would fail every send to the other half, and a group leader would assign none of
    it.

    Args:
        plan: the topics.
        known: broker id → the partitions that it knows a leader of.
    """
    named = [
        (f"{topic.name}-{number}", (topic.name, number))
        for topic in plan.topics
        for number in range(topic.partitions)
    ]
    for broker, partitions in sorted(known.items()):
        missing = [name for name, partition in named if partition not in partitions]
        if missing:
            return f"waiting for broker {broker} to know a leader of {', '.join(missing[:8])}"
    return ""


def check_racks(plan: Plan, view: ClusterView, racks: Mapping[int, str]) -> None:
    """Check the racks that Kafka reports against those that were assigned.

    Args:
        plan: what was assigned.
        view: the brokers of each partition's replicas.
        racks: broker id → the rack it reports.

    Raises:
        UserError: a broker reports another rack, or two replicas of a partition share one.
    """
    for broker in plan.brokers:
        reported = racks.get(broker.ordinal, "")
        if reported != broker.zone:
            raise UserError(
                "RackNotReported",
                "spec.kafka.image",
                f"broker {broker.ordinal} was assigned rack {broker.zone} and reports "
                f"{reported or 'none'}; use an image that reads /krt/config/server.properties",
            )
    topics = {topic.name for topic in plan.topics}
    for partition in view.partitions:
        used = [racks.get(replica) for replica in partition.replicas]
        if partition.topic in topics and len(set(used)) < len(used):
            raise UserError(
                "ReplicasShareARack",
                "spec.topics[].replicationFactor",
                f"{partition.name} has replicas on brokers {list(partition.replicas)} in racks "
                f"{used}; leave the assignment to the controller, and do not reassign partitions "
                "during a run",
            )


def check_min_insync(plan: Plan, effective: Mapping[str, Mapping[str, str]]) -> None:
    """Check the min.insync.replicas that Kafka reports against those of the plan.

    In KRaft mode this is not the brokers' value: from Kafka 4.1 on, the controllers set it for the
    whole cluster when they start for the first time.

    Args:
        plan: what topics and brokers were given.
        effective: topic → its settings, as Kafka reports them.

    Raises:
        UserError: a topic has another value.
    """
    field, remedy = "spec.kafka.image", "use an image that reads /krt/config/server.properties, or "
    if plan.metadata.referenced:
        field, remedy = "spec.topics", ""
    for topic in plan.topics:
        reported = effective.get(topic.name, {}).get(MIN_INSYNC_REPLICAS)
        if reported != str(plan.min_insync(topic.name)):
            raise UserError(
                "SettingNotEffective",
                field,
                f"topic {topic.name} was given min.insync.replicas "
                f"{plan.min_insync(topic.name)} and Kafka reports {reported or 'none'}; "
                f"{remedy}set min.insync.replicas in the topic's config",
            )


def check_hosts(plan: Plan, observed: Observed) -> None:
    """Check that no node runs two members that must be on different nodes.

    Raises:
        UserError: two of them share a node.
    """
    separated = plan.spec.separation is Separation.REQUIRED
    placed: dict[tuple[str, str], str] = {}
    for member in plan.members:
        node = _node(observed, member.pod)
        key = ("member" if separated else member.kind, node)
        if key in placed:
            raise UserError(
                "MembersShareANode",
                "spec.placement",
                f"{placed[key]} and {member.member} both run on node {node}; use a scheduler "
                "that honours required pod anti-affinity",
            )
        placed[key] = member.member


def placement_message(plan: Plan, observed: Observed) -> str:
    """Where each member runs and how the topics are laid out, in one line."""
    members = ", ".join(
        f"{member.member} {member.zone}/{_node(observed, member.pod) or '?'}"
        for member in plan.members
    )
    topics = ", ".join(
        f"{topic.name} {topic.partitions}x{topic.replication_factor}" for topic in plan.topics
    )
    return f"checked in the cluster: {members}; topics {topics}, replicas on different racks"


def _own_partitions(plan: Plan, view: ClusterView) -> tuple[Partition, ...]:
    topics = {topic.name for topic in plan.topics}
    return tuple(partition for partition in view.partitions if partition.topic in topics)


def _node(observed: Observed, name: str) -> str:
    pod = observed.pod(name)
    return "" if pod is None else pod.node
