"""The port `describe_quorum` on a real KRaft controller.

librdkafka's admin client knows no quorum, and in KRaft mode it takes a random broker for the
controller. So this sends one DescribeQuorum to the controller's own listener. The leader alone
answers it; a controller that follows says so at once, also while there is no quorum, whereas a
broker would forward the request until it runs out of time.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from kafka.errors import for_code
from kafka.protocol.admin import DescribeQuorumRequest, DescribeQuorumResponse

from krt_contract.kafka_connection import MALFORMED, Connection
from krt_operator.constants import CLIENT_ID
from krt_operator.errors import TransientError
from krt_operator.kafka.views import Quorum

if TYPE_CHECKING:
    from krt_contract.kafka_login import Login

MAX_ANSWER: Final = 1_000_000
"""Bytes of an answer; three voters and three observers take below 500."""

FETCH_SILENCE_MILLIS: Final = 2_000
"""How long ago a voter that follows has fetched at most: a follower's fetch returns after 0.5 s
(controller.quorum.fetch.timeout.ms is 2 s, after which it calls for an election)."""

VERSION: Final = 1
"""Kafka 3.9 has version 2, which adds what is not needed here."""

FOLLOWING: Final = frozenset({5, 6})
"""Errors of a controller that does not lead the quorum: LEADER_NOT_AVAILABLE and
NOT_LEADER_OR_FOLLOWER."""


def describe_quorum(address: str, login: Login) -> Quorum | None:
    """Ask a KRaft controller for the quorum that it leads.

    Args:
        address: `host:port` of its listener.
        login: has the certificate that the listener wants, where it does. It knows no user.

    Returns:
        The quorum; None where the controller does not lead one.

    Raises:
        TransientError: the controller did not answer in time; the message names it.
    """
    try:
        context = login.ssl_context()
        with closing(Connection(address, CLIENT_ID, MAX_ANSWER, context=context)) as connection:
            response = connection.send(make_request(), DescribeQuorumResponse, VERSION)
    except OSError as error:
        raise TransientError(f"controller {address} did not answer: {error}") from error
    except MALFORMED as error:
        raise TransientError(f"controller {address} answered something else: {error}") from error
    return read_response(response)


def make_request() -> DescribeQuorumRequest:
    """Return the request for the state of the metadata log's quorum."""
    topic = DescribeQuorumRequest.TopicData
    partition = topic.PartitionData(partition_index=0)
    return DescribeQuorumRequest(
        topics=[topic(topic_name="__cluster_metadata", partitions=[partition])]
    )


def read_response(response: Any) -> Quorum | None:
    """Read a ``DescribeQuorumResponse``.

    Raises:
        TransientError: the controller is changing its role, or refuses the request.
    """
    partition = next((each for topic in response.topics for each in topic.partitions), None)
    error = response.error_code or (partition.error_code if partition is not None else 0)
    if error in FOLLOWING:
        return None
    if error or partition is None:
        name = for_code(error).__name__ if error else "no partition"
        raise TransientError(f"DescribeQuorum: the controller answered {name}")
    # The leader's own time of the answer, by which it also dates the fetches of the others.
    now = max(voter.last_caught_up_timestamp for voter in partition.current_voters)
    return Quorum(
        leader=partition.leader_id,
        epoch=partition.leader_epoch,
        in_sync=frozenset(
            voter.replica_id
            for voter in partition.current_voters
            if voter.replica_id == partition.leader_id
            or now - voter.last_fetch_timestamp <= FETCH_SILENCE_MILLIS
        ),
    )
