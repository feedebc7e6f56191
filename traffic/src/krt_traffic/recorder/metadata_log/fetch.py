"""The fetch of the metadata log from the active controller, and its answer.

Version 17 (KIP-853, Kafka 3.9): it names the topic by its id, and its answer tells who leads
whatever its error. Replica id -1 is that of a client; a controller answers it all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse

from krt_contract.kafka_connection import MALFORMED

if TYPE_CHECKING:
    from krt_contract.kafka_connection import Connection

VERSION = 17
METADATA_TOPIC = UUID(int=1)
"""The id of ``__cluster_metadata``: ``AAAAAAAAAAAAAAAAAAAAAQ``."""

WAIT_MILLIS = 250
"""How long a controller waits for a record. One comes at least every 500 ms, and with it the high
watermark of those before."""

MAX_BYTES = 1 << 20

NO_EPOCH = -1
"""Of the record before, where there is none."""
NONE = 0
NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class Position:
    """Where the next fetch begins.

    Attributes:
        offset: of the first record that is fetched.
        last_epoch: quorum epoch of the record before it.
    """

    offset: int
    last_epoch: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a controller answered.

    Attributes:
        error: Kafka's error code; 0 for none.
        leader: node id of the quorum's leader; -1 where it is not known.
        leader_epoch: its quorum epoch.
        high_watermark: all below is committed; -1 where the leader does not know it yet.
        records: batches, the last one possibly cut off.
        snapshot: the position is only in a snapshot.
        diverging: the record before the position is not of that epoch.
    """

    error: int = NONE
    leader: int = NO_LEADER
    leader_epoch: int = 0
    high_watermark: int = -1
    records: bytes = b""
    snapshot: bool = False
    diverging: bool = False


def fetch(connection: Connection, position: Position, leader_epoch: int, cluster: str) -> Answer:
    """Fetch what follows a position.

    Args:
        connection: to a controller.
        position: where to begin.
        leader_epoch: of the leader that it is taken for; at least 1, as an unknown one (0) is
            answered with an error that does not name the leader.
        cluster: the cluster's id.

    Raises:
        OSError: no answer came, or none of Kafka's.
    """
    topic = FetchRequest.FetchTopic
    request = FetchRequest(
        cluster_id=cluster,
        max_wait_ms=WAIT_MILLIS,
        min_bytes=1,
        max_bytes=MAX_BYTES,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[
            topic(
                topic_id=METADATA_TOPIC,
                partitions=[
                    topic.FetchPartition(
                        partition=0,
                        current_leader_epoch=max(1, leader_epoch),
                        fetch_offset=position.offset,
                        last_fetched_epoch=position.last_epoch,
                        log_start_offset=-1,
                        partition_max_bytes=MAX_BYTES,
                        version=VERSION,
                    )
                ],
                version=VERSION,
            )
        ],
        forgotten_topics_data=[],
        rack_id="",
        version=VERSION,
    )
    try:
        return read_answer(connection.send(request, FetchResponse, VERSION))
    except MALFORMED as error:
        raise ConnectionError(f"the answer is none to a fetch: {error!r}") from error


def read_answer(response: Any) -> Answer:
    """Return what a response says of the metadata log."""
    if response.error_code or not response.responses:
        return Answer(error=response.error_code)
    partition = response.responses[0].partitions[0]
    leader, snapshot = partition.current_leader, partition.snapshot_id
    diverging = partition.diverging_epoch
    return Answer(
        error=partition.error_code,
        leader=NO_LEADER if leader is None else leader.leader_id,
        leader_epoch=0 if leader is None else leader.leader_epoch,
        high_watermark=partition.high_watermark,
        records=bytes(partition.records or b""),
        snapshot=snapshot is not None and snapshot.end_offset >= 0,
        diverging=diverging is not None and diverging.end_offset >= 0,
    )
