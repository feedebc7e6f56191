"""Kafka's internal topics, created with safe settings whatever the settings of the test are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.entries import Topic
from krt_contract.settings import (
    INTERNAL_PARTITIONS_DEFAULT,
    MIN_INSYNC_REPLICAS,
    OFFSETS_PARTITIONS,
    TRANSACTIONS_PARTITIONS,
    UNCLEAN_ELECTION,
)
from krt_operator.constants import INTERNAL_REPLICAS
from krt_operator.kafka.assignment import spread

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan

OFFSETS: Final = "__consumer_offsets"
TRANSACTIONS: Final = "__transaction_state"
COUNT_SETTINGS: Final = {
    OFFSETS: OFFSETS_PARTITIONS,
    TRANSACTIONS: TRANSACTIONS_PARTITIONS,
}
"""A group or transaction is found by hash modulo the setting, so the topic must have exactly as
many partitions."""

SEGMENT: Final = "104857600"
"""Bytes of a segment, Kafka's own default for these topics."""


def internal_topics(plan: Plan) -> list[Topic]:
    """__consumer_offsets, and __transaction_state where a producer is transactional.

    Kafka would create them on first use with the brokers' min.insync.replicas and unclean
    election, which are what the test is about: a commit lost there would look like a redelivery
    by the topics under test.
    """
    racks = {broker.ordinal: broker.zone for broker in plan.brokers}
    replicas = min(INTERNAL_REPLICAS, len(racks))
    topics = [OFFSETS]
    if any(producer.transactional for producer in plan.spec.traffic.producers):
        topics.append(TRANSACTIONS)
    return [
        Topic(
            name=name,
            partitions=_partitions(plan, name),
            replication_factor=replicas,
            config={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                MIN_INSYNC_REPLICAS: str(max(1, replicas - 1)),
                "segment.bytes": SEGMENT,
                UNCLEAN_ELECTION: "false",
            },
            assignment={
                partition: tuple(ids)
                for partition, ids in spread(racks, _partitions(plan, name), replicas).items()
            },
        )
        for name in topics
    ]


def _partitions(plan: Plan, name: str) -> int:
    return int(plan.broker_config.get(COUNT_SETTINGS[name], INTERNAL_PARTITIONS_DEFAULT))
