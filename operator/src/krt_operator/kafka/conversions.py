"""What the Kafka client returns, as the controller's own values."""

from __future__ import annotations

from typing import Any

from krt_operator.kafka.views import Partition


def to_addresses(metadata: Any) -> dict[int, str]:
    """Broker id to the `host:port` that the broker advertises."""
    return {node.id: f"{node.host}:{node.port}" for node in metadata.brokers.values()}


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
