"""Where the log of a partition starts and ends, as its leader knows it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, TopicPartition

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from krt_traffic.consumer.positions import Partition

CALL_SECONDS = 5.0
"""How long one request to a broker may take before the controller's instructions are read again."""


def partition_bounds(client: Consumer, partition: Partition) -> tuple[int, int]:
    """Return the first offset of a partition's log and the one behind its last, from its leader.

    A broker that has just started, or has not heard of all of a new topic yet, names only some of
    the topic's partitions. The client keeps that answer for five minutes
    (``topic.metadata.refresh.interval.ms``) and fails requests about any other partition by itself;
    it is made to look again at once, for the next attempt.

    Raises:
        KafkaException: there is no answer yet.
    """
    try:
        low, high = client.get_watermark_offsets(
            TopicPartition(*partition), timeout=CALL_SECONDS, cached=False
        )
    except KafkaException as exception:
        if exception.args[0].code() == KafkaError._UNKNOWN_PARTITION:  # noqa: SLF001 - no public name
            with suppress(KafkaException):
                client.list_topics(partition[0], timeout=CALL_SECONDS)
        raise
    return int(low), int(high)
