"""Whether the KRaft quorum is lost: no broker reaches its leader, and nothing is committed.

The silence of the log alone may be ours; brokers that reach no leader may be the ones in trouble.
An idle quorum commits a record every 500 ms.
"""

from __future__ import annotations

import logging
from contextlib import closing
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin.cluster import DescribeQuorumRequest, DescribeQuorumResponse

from krt_contract.kafka_connection import MALFORMED
from krt_contract.metadata import HistorySource
from krt_contract.timeline import EventName, Source
from krt_traffic.recorder.metadata_log.fetch import NO_LEADER
from krt_traffic.recorder.periodic import Periodic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from krt_contract.kafka_connector import Connect
    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.timeline import Timeline

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 0.5
SILENT_MICROS = 3_000_000
"""Without a committed record, after which the brokers are asked: six times what an idle quorum
takes, and more than the 2 s in which a dead leader is replaced."""

STOP_SECONDS = 3.0
"""How long the end waits for a broker's answer, which may take 2 s."""

METADATA = "__cluster_metadata"
VERSION = 2


class QuorumWatch:
    """Records the loss of the quorum, in a thread of its own.

    Args:
        brokers: ``host:port`` of each.
        silence: for how long nothing was committed (µs), and when something last was (UTC µs);
            None before the first record.
        timeline: where events go.
        failures: starts the thread.
        connect: connects to a broker.
    """

    def __init__(
        self,
        brokers: Sequence[str],
        silence: Callable[[], tuple[int, int] | None],
        timeline: Timeline,
        failures: Failures,
        connect: Connect,
    ) -> None:
        self._brokers, self._silence, self._timeline = brokers, silence, timeline
        self._connect = connect
        self._lost = False
        self._periodic = Periodic(self.look, INTERVAL_SECONDS, "quorum", failures)

    def start(self) -> None:
        """Begin; returns at once."""
        self._periodic.start()

    def stop(self) -> None:
        """End."""
        self._periodic.stop(STOP_SECONDS)

    def look(self) -> None:
        """Record that the quorum is lost, once each time."""
        silence = self._silence()
        if silence is None or silence[0] < SILENT_MICROS:
            self._lost = False
        elif not self._lost and not self._reached():
            # A record may have been committed while the brokers were asked.
            now = self._silence()
            self._lost = now is not None and now[1] == silence[1]
            if self._lost:
                detail = {"since": silence[1], "from": str(HistorySource.METADATA_LOG)}
                self._timeline.write(Source.CONTROLLER, EventName.QUORUM_LOST, "", detail)

    def _reached(self) -> bool:
        """Whether any broker reaches a leader, or the end is near and nothing may be told."""
        return any(self._periodic.stopping or self._leader(broker) for broker in self._brokers)

    def _leader(self, broker: str) -> bool:
        """Whether a broker reaches a leader of the quorum."""
        try:
            return describe_quorum(broker, self._connect) is not None
        except (OSError, *MALFORMED) as error:
            log.debug("quorum, asked of %s: %r", broker, error)
            return False


def describe_quorum(
    address: str, connect: Connect, version: int = VERSION
) -> tuple[int, int] | None:
    """Return node id and epoch of the quorum's leader as a broker reports it; None for none.

    Args:
        address: the broker's ``host:port``.
        connect: connects to it.
        version: of the request.

    Raises:
        OSError: the broker gave no answer in time, which is what it does while no controller
            leads, or did not let the recorder in.
        ValueError, IndexError, struct.error: this is no answer to that request (``MALFORMED``).
    """
    topic = DescribeQuorumRequest.TopicData
    request = DescribeQuorumRequest(
        topics=[
            topic(
                topic_name=METADATA,
                partitions=[topic.PartitionData(partition_index=0, version=version)],
                version=version,
            )
        ],
        version=version,
    )
    with closing(connect(address)) as connection:
        return read_leader(connection.send(request, DescribeQuorumResponse, version))


def read_leader(response: Any) -> tuple[int, int] | None:
    """Return node id and epoch of the leader in an answer; None where it names none."""
    if response.error_code or not response.topics:
        return None
    partition = response.topics[0].partitions[0]
    if partition.error_code or partition.leader_id == NO_LEADER:
        return None
    return partition.leader_id, partition.leader_epoch
