"""The requests of a poll, and their answers.

The admin client of librdkafka has no leader epoch, waits for the controller, and in KRaft mode
names a random broker as such. Metadata has the epochs of every partition from Kafka 2.1 on, and
DescribeTopicPartitions (Kafka 3.9 with KRaft) the eligible leader replicas, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import kafka
from kafka.protocol.admin.topics import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS, BrokerVersionData
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
)

from krt_contract.kafka_connection import MALFORMED
from krt_traffic.clock import wall
from krt_traffic.errors import RecordingError
from krt_traffic.recorder.metadata_log.fetch import NONE
from krt_traffic.recorder.polling.view import Broker, PartitionView, View

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_contract.kafka_connection import Connection
    from krt_contract.kafka_connector import Connect

NO_ANSWER = (OSError, *MALFORMED)
"""What asking raises where a broker gives no answer that can be read."""

WITH_EPOCHS = 7
"""The first version of Metadata that tells leader epochs, which Kafka 2.1 has."""

NEWEST_METADATA = 12
"""The version of Metadata that is asked for, of a broker that has it."""

MOST_PARTITIONS = 2000
"""Partitions of an answer to DescribeTopicPartitions: as many as a broker gives at once."""

WITH_FEATURES = 3
"""The version of ApiVersions that reports finalized features, which Kafka 2.4 has."""

NO_TOPIC = UUID(int=0)
"""Asks for a topic by its name."""

Ranges = dict[int, tuple[int, int]]
"""Key of a request → its first and last version that a broker has."""


class BrokerRequests:
    """Asks one broker, over one connection that is made again when it broke.

    Args:
        broker: its id; UNKNOWN of a bootstrap server.
        address: its ``host:port``.
        connect: connects to it.
    """

    def __init__(self, broker: int, address: str, connect: Connect) -> None:
        self._broker, self._address, self._connect = broker, address, connect
        self._connection: Connection | None = None
        self._ranges: Ranges = {}

    @property
    def version(self) -> str:
        """The version of Kafka that the broker's requests show; empty before it was asked."""
        return version_of(self._ranges) if self._ranges else ""

    def ask(self, topics: Sequence[str]) -> View:
        """Return what the broker knows of these topics; of one that it does not have, nothing.

        Raises:
            OSError, ValueError, IndexError, struct.error: no answer (``NO_ANSWER``).
            RecordingError: the broker is too old to tell leader epochs.
        """
        try:
            return self._ask(topics)
        except BaseException:
            self.close()
            raise

    def features(self) -> dict[str, int]:
        """Return the finalized features and their levels, sorted; empty where it reports none.

        Raises:
            OSError, ValueError, IndexError, struct.error: no answer (``NO_ANSWER``).
        """
        _, newest = self._ranges.get(ApiVersionsRequest.API_KEY, (0, 0))
        if self._connection is None or newest < WITH_FEATURES:
            return {}
        request = ApiVersionsRequest(
            client_software_name="kafka-python",
            client_software_version=kafka.__version__,
            version=WITH_FEATURES,
        )
        return read_features(self._connection.send(request, ApiVersionsResponse, WITH_FEATURES))

    def close(self) -> None:
        """Close the connection; a thread that waits for an answer gets an ``OSError``."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _ask(self, topics: Sequence[str]) -> View:
        connection = self._connection
        if connection is None:
            connection = self._connection = self._connect(self._address)
            self._ranges = _ranges(connection)
        _, newest = self._ranges.get(MetadataRequest.API_KEY, (0, 0))
        if newest < WITH_EPOCHS:
            raise RecordingError(
                f"the broker at {self._address} does not tell leader epochs, so nothing shows who "
                "led when: it is older than Kafka 2.1. Test a cluster of Kafka 2.1 or later"
            )
        asked = wall()
        metadata = _metadata(connection, topics, min(newest, NEWEST_METADATA))
        partitions = read_topics(metadata.topics)
        if DescribeTopicPartitionsRequest.API_KEY in self._ranges:
            partitions = read_topics(_described(connection, topics))
        return read_view(metadata, partitions, broker=self._broker, asked=asked, at=wall())


def _ranges(connection: Connection) -> Ranges:
    response = connection.send(ApiVersionsRequest(version=0), ApiVersionsResponse, 0)
    return {item.api_key: (item.min_version, item.max_version) for item in response.api_keys}


def read_features(response: Any) -> dict[str, int]:
    """Return the finalized features in an answer to ApiVersions and their levels, sorted."""
    # Of a negative epoch the broker has not heard of any yet.
    if response.error_code != NONE or response.finalized_features_epoch < 0:
        return {}
    return {
        item.name: item.max_version_level
        for item in sorted(response.finalized_features, key=lambda item: item.name)
    }


def _metadata(connection: Connection, topics: Sequence[str], version: int) -> Any:
    request = MetadataRequest(
        topics=[
            MetadataRequest.MetadataRequestTopic(topic_id=NO_TOPIC, name=name, version=version)
            for name in topics
        ],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
        version=version,
    )
    return connection.send(request, MetadataResponse, version)


def _described(connection: Connection, topics: Sequence[str]) -> list[Any]:
    """Return the topics' descriptions; a broker gives a topic of many partitions in parts."""
    found: list[Any] = []
    cursor: Any = None
    while True:
        request = DescribeTopicPartitionsRequest(
            topics=[
                DescribeTopicPartitionsRequest.TopicRequest(name=name, version=0)
                for name in sorted(topics)
            ],
            response_partition_limit=MOST_PARTITIONS,
            cursor=cursor,
            version=0,
        )
        response = connection.send(request, DescribeTopicPartitionsResponse, 0)
        found += response.topics
        following = response.next_cursor
        if following is None:
            return found
        cursor = DescribeTopicPartitionsRequest.Cursor(
            topic_name=following.topic_name,
            partition_index=following.partition_index,
            version=0,
        )


def read_topics(topics: Sequence[Any]) -> dict[str, PartitionView]:
    """Return the partitions in an answer; a topic that is not there has none."""
    return {
        f"{topic.name}-{item.partition_index}": PartitionView(
            leader=item.leader_id,
            epoch=item.leader_epoch,
            isr=tuple(sorted(item.isr_nodes)),
            replicas=tuple(item.replica_nodes),
            elr=tuple(sorted(getattr(item, "eligible_leader_replicas", None) or ())),
            last_known=tuple(sorted(getattr(item, "last_known_elr", None) or ())),
        )
        for topic in topics
        if topic.error_code == NONE
        for item in topic.partitions
    }


def read_view(
    response: Any, partitions: Mapping[str, PartitionView], *, broker: int, asked: int, at: int
) -> View:
    """Return an answer to Metadata as a view; the other arguments are its attributes."""
    return View(
        broker=broker,
        asked=asked,
        at=at,
        brokers={
            item.node_id: Broker(item.host, item.port, item.rack or "") for item in response.brokers
        },
        controller=response.controller_id,
        partitions=partitions,
    )


def version_of(ranges: Ranges) -> str:
    """Return the version of Kafka that has such requests.

    No request asks for it. kafka-python knows which release had which requests first; of one that
    is newer than it knows, all that shows is from when on it is.
    """
    version = BrokerVersionData(api_versions=ranges).broker_version
    later = " or later" if version >= max(BROKER_API_VERSIONS) else ""
    return f"{'.'.join(map(str, version))}{later}"
