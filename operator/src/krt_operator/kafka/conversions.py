"""What the Kafka client returns, as the controller's own values."""

from __future__ import annotations

from typing import Any

from krt_operator.kafka.views import NO_BROKER, GroupMember, Partition


def to_broker_id(node: Any) -> int:
    """A node as a broker id; `NO_BROKER` where there is none."""
    return NO_BROKER if node is None else int(node.id)


def to_member(member: Any) -> GroupMember:
    """A member of a described group."""
    assigned = member.assignment.topic_partitions if member.assignment else ()
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.host.lstrip("/"),
        partitions=tuple(sorted((partition.topic, partition.partition) for partition in assigned)),
    )


def to_partitions(metadata: Any) -> tuple[Partition, ...]:
    """Every partition of the cluster's metadata, by topic and number."""
    return tuple(
        Partition(
            topic=name,
            partition=number,
            leader=partition.leader,
            replicas=tuple(partition.replicas),
            isr=tuple(partition.isrs),
        )
        for name, topic in sorted(metadata.topics.items())
        for number, partition in sorted(topic.partitions.items())
    )
