"""What each broker itself knows of topics, by a request of our own to it.

librdkafka is not asked, because it chooses itself which broker answers, and brokers do not hear of
a new topic at the same moment.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Final

from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from krt_contract.kafka_connection import MALFORMED
from krt_operator.errors import TransientError
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_contract.kafka_connector import Connect

VERSION: Final = 4
"""The first that can ask for a topic without creating it; every broker has it from Kafka 0.11 on.
"""


def led_partitions(
    addresses: Mapping[int, str], topics: Sequence[str], connect: Connect, deadline: float
) -> dict[int, frozenset[tuple[str, int]]]:
    """Ask every broker for the partitions of topics that have a leader, as far as it knows.

    Args:
        addresses: broker id → `host:port` of its listener.
        topics: their names; one that a broker does not know has no partitions there.
        connect: connects to a broker and logs in.
        deadline: monotonic time after which no other broker is asked.

    Raises:
        TransientError: a broker did not answer; the message names it.
    """
    found = {}
    for broker, address in sorted(addresses.items()):
        doing = f"reading what broker {broker} knows of topics"
        if time.monotonic() > deadline:
            raise TransientError(f"{doing}: there was no time left to ask it")
        try:
            found[broker] = _ask(address, topics, connect)
        except OSError as error:
            raise TransientError(f"{doing}: {address} did not answer: {error}") from error
        except MALFORMED as error:
            raise TransientError(f"{doing}: {address} answered something else: {error}") from error
    return found


def _ask(address: str, topics: Sequence[str], connect: Connect) -> frozenset[tuple[str, int]]:
    topic = MetadataRequest.MetadataRequestTopic
    request = MetadataRequest(
        topics=[topic(name=name) for name in topics], allow_auto_topic_creation=False
    )
    with closing(connect(address)) as connection:
        response = connection.send(request, MetadataResponse, VERSION)
    return frozenset(
        (found.name, partition.partition_index)
        for found in response.topics
        for partition in found.partitions
        if partition.leader_id != NO_BROKER
    )
