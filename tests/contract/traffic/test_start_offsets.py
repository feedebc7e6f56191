"""Asking a real broker where the log of an assigned partition starts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from krt_traffic.consumer.start_offsets import StartOffsets

if TYPE_CHECKING:
    from tests.contract.traffic.local_kafka import LocalKafka

TOPIC = "grown"
NO_ANSWER = -1


def test_first_of_a_partition_missing_from_the_clients_metadata_is_found(kafka: LocalKafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
    client = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "readers"})
    client.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=30)
    admin.create_partitions([NewPartitions(TOPIC, 2)])[TOPIC].result(30)
    # Less than the five minutes after which the client looks at its topics by itself.
    ended = threading.Event()
    limit = threading.Timer(30, ended.set)
    limit.start()
    try:
        found = StartOffsets(ended.wait, lambda *_: NO_ANSWER).first(
            client, TopicPartition(TOPIC, 1)
        )
    finally:
        limit.cancel()
        client.close()
    assert found == 0
