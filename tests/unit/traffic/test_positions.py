from __future__ import annotations

from confluent_kafka import KafkaError, Message

from krt_traffic.consumer.positions import partition_of


def test_partition_of_a_truncation_without_offset_is_known() -> None:
    error = KafkaError(KafkaError._AUTO_OFFSET_RESET, "truncated")  # noqa: SLF001 - no public name
    message = Message(topic="foo", partition=2, error=error)
    assert message.offset() is None
    assert partition_of(message) == ("foo", 2)
