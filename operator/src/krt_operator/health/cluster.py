"""Whether the cluster stands as the plan says, judged from pods and from Kafka's own metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.spec import Separation
from krt_operator.errors import UserError
from krt_operator.health import pod_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_operator.engine.ports import Observed
    from krt_operator.kafka.views import ClusterView
    from krt_operator.plan.plan import Plan


def not_ready(plan: Plan, world: Observed) -> str:
    """Which members' pods are not ready, as a sentence; empty when all are."""
    missing = [one.member for one in plan.members if not pod_state.ready(world.pods.get(one.pod))]
    if not missing:
        return ""
    pods = [world.pods[one.pod] for one in plan.members if one.pod in world.pods]
    return "; ".join([f"waiting for {', '.join(missing)}", *pod_state.obstacles(pods)])


def not_joined(plan: Plan, view: ClusterView) -> str:
    """Which brokers Kafka does not know yet; empty when all have joined."""
    missing = [one.member for one in plan.brokers if one.ordinal not in view.broker_ids]
    return f"waiting for {', '.join(missing)} to join the cluster" if missing else ""


def not_whole(plan: Plan, view: ClusterView) -> str:
    """Which partitions have no leader or short replica sets; empty when all are whole."""
    names = {one.name for one in plan.topics}
    seen = [one for one in view.partitions if one.topic in names]
    if len(seen) < sum(one.partitions for one in plan.topics):
        return "waiting for the topics to appear in the brokers' metadata"
    short = [one.name for one in view.partitions if not one.fully_replicated]
    return f"waiting for leaders and replicas of {', '.join(short[:8])}" if short else ""


def check_racks(plan: Plan, view: ClusterView, racks: Mapping[int, str]) -> None:
    """Check what Kafka reports against what was assigned.

    Args:
        plan: what was assigned.
        view: where the replicas lie.
        racks: broker id → the rack it reports.

    Raises:
        UserError: a broker reports another rack, or two replicas of a partition share one.
    """
    for one in plan.brokers:
        told = racks.get(one.ordinal, "")
        if told != one.zone:
            raise UserError(
                "RackNotReported",
                "spec.kafka.image",
                f"broker {one.ordinal} was given rack {one.zone} and reports "
                f"{told or 'none'}; the image must use /krt/config/server.properties",
            )
    topics = {one.name for one in plan.topics}
    for partition in view.partitions:
        used = [racks.get(replica) for replica in partition.replicas]
        if partition.topic in topics and len(set(used)) < len(used):
            raise UserError(
                "ReplicasShareARack",
                "spec.topics[].replicationFactor",
                f"{partition.name} has replicas on brokers {list(partition.replicas)} in racks "
                f"{used}; let the controller assign them, and do not reassign during a run",
            )


def check_hosts(plan: Plan, world: Observed) -> None:
    """Check on the running pods that no node holds two members that must be apart.

    Raises:
        UserError: two of them share a node.
    """
    apart = plan.spec.placement.separate_zookeeper is Separation.REQUIRED
    holders: dict[tuple[str, str], str] = {}
    for one in plan.members:
        node = world.pods[one.pod]["spec"].get("nodeName", "")
        key = ("member" if apart else one.kind, node)
        if key in holders:
            raise UserError(
                "MembersShareANode",
                "spec.placement",
                f"{holders[key]} and {one.member} both run on node {node}; the scheduler of this "
                "cluster does not honour required anti-affinity",
            )
        holders[key] = one.member


def in_words(plan: Plan, world: Observed) -> str:
    """What stands where, one line, for the condition."""
    where = ", ".join(
        f"{one.member} {one.zone}/{world.pods[one.pod]['spec'].get('nodeName', '?')}"
        for one in plan.members
    )
    topics = ", ".join(
        f"{one.name} {one.partitions}x{one.replication_factor}" for one in plan.topics
    )
    return f"checked in the cluster: {where}; topics {topics}, replicas on different racks"
