"""Asking for the bounds of a log, while the client does not know the partition."""

from __future__ import annotations

from unittest import mock

import pytest
from confluent_kafka import KafkaError, KafkaException

from krt_traffic.consumer.partition_bounds import partition_bounds

UNKNOWN = KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))  # noqa: SLF001 - no public name
NOT_LEADER = KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))


def client_failing_with(error: KafkaException) -> mock.Mock:
    client = mock.Mock()
    client.get_watermark_offsets.side_effect = error
    return client


def test_partition_unknown_to_the_client_makes_it_look_at_the_topic_again() -> None:
    client = client_failing_with(UNKNOWN)
    with pytest.raises(KafkaException):
        partition_bounds(client, ("foo", 1))
    assert client.list_topics.call_args.args == ("foo",)


def test_failed_look_at_the_topic_leaves_the_first_error() -> None:
    client = client_failing_with(UNKNOWN)
    client.list_topics.side_effect = NOT_LEADER
    with pytest.raises(KafkaException) as caught:
        partition_bounds(client, ("foo", 1))
    assert caught.value is UNKNOWN


def test_error_of_a_broker_asks_for_no_metadata() -> None:
    client = client_failing_with(NOT_LEADER)
    with pytest.raises(KafkaException):
        partition_bounds(client, ("foo", 1))
    assert not client.list_topics.called
