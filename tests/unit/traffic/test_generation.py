from __future__ import annotations

from unittest import mock

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from krt_traffic.consumer.generation import generation_of, parse


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (b"CGMDv2:\x05\x00\x00\x00g\0member\0\x01", 5),
        (b"CGMDv2:\x00\x01\x00\x00g\0\0\x01", 256),
        (b"CGMDv2:\xff\xff\xff\xffg\0\0\x01", None),
        (b"CGMDv2:\x05\x00\x00\x00other\0m\0", None),
        (b"CGMDv3:\x05\x00\x00\x00g\0m\0", None),
        (b"CGMDv2:\x05", None),
        (b"", None),
        (None, None),
    ],
)
def test_parse_gives_a_generation_only_of_the_known_format(
    metadata: object, expected: int | None
) -> None:
    assert parse(metadata, "g") == expected


def test_generation_of_a_client_that_joined_no_group_is_not_known() -> None:
    """The real client: its format is what `parse` expects, up to the generation."""
    client = Consumer(
        {"bootstrap.servers": "127.0.0.1:1", "group.id": "gr\u00fcppe", "log_level": 0}
    )
    metadata = client.consumer_group_metadata()
    assert isinstance(metadata, bytes)
    joined = metadata.replace(b"\xff\xff\xff\xff", b"\x07\x00\x00\x00", 1)
    assert parse(joined, "gr\u00fcppe") == 7
    assert generation_of(client, "gr\u00fcppe") is None
    client.close()
    assert generation_of(client, "gr\u00fcppe") is None


def test_generation_of_a_client_that_is_destroyed_is_not_known() -> None:
    client = mock.Mock(spec=Consumer)
    client.consumer_group_metadata.side_effect = KafkaException(
        KafkaError(KafkaError._DESTROY)  # noqa: SLF001 - no public name
    )
    assert generation_of(client, "g") is None
