"""What a KRaft controller answers to DescribeQuorum, as the controller's own values."""

from __future__ import annotations

import socket
import struct
import threading
from typing import TYPE_CHECKING, Any

import pytest
from kafka.protocol.admin import DescribeQuorumResponse

from krt_contract.kafka_login import PLAINTEXT
from krt_operator.errors import TransientError
from krt_operator.kafka.quorum import describe_quorum, make_request, read_response
from krt_operator.kafka.views import Quorum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOW = 1_795_552_295_545


def answer(error: int = 0, partition_error: int = 0, fetched: tuple[int, ...] = ()) -> bytes:
    """The response of node 100, epoch 7; the other voters fetched so many ms ago."""
    of_topic = DescribeQuorumResponse.TopicData
    of_partition = of_topic.PartitionData
    ages = (0, *fetched)
    voters = [
        of_partition.ReplicaState(
            replica_id=100 + place,
            log_end_offset=50,
            last_fetch_timestamp=-1 if place == 0 else NOW - age,
            last_caught_up_timestamp=NOW - age,
        )
        for place, age in enumerate(ages)
    ]
    partition = of_partition(
        partition_index=0,
        error_code=partition_error,
        leader_id=100,
        leader_epoch=7,
        high_watermark=49,
        current_voters=voters,
        observers=[],
    )
    topic = of_topic(topic_name="__cluster_metadata", partitions=[partition])
    response = DescribeQuorumResponse(error_code=error, topics=[] if error else [topic])
    # The header: a correlation id, and no tagged fields.
    return b"\0\0\0\0\0" + bytes(response.encode(version=1))


def read(body: bytes) -> Quorum | None:
    return read_response(DescribeQuorumResponse.decode(body, version=1, header=True))


@pytest.mark.parametrize(
    ("body", "quorum"),
    [
        (answer(), Quorum(100, 7, frozenset({100}))),
        (answer(fetched=(500, 2000)), Quorum(100, 7, frozenset({100, 101, 102}))),
        (answer(fetched=(500, 2001)), Quorum(100, 7, frozenset({100, 101}))),
        (answer(partition_error=6), None),
        (answer(error=6), None),
        (answer(error=5), None),
    ],
)
def test_read_response_returns_the_quorum_of_its_leader(body: bytes, quorum: Quorum | None) -> None:
    assert read(body) == quorum


def test_read_response_with_another_error_names_it() -> None:
    with pytest.raises(TransientError, match="ClusterAuthorizationFailed"):
        read(answer(error=31))


def test_make_request_asks_for_the_metadata_log() -> None:
    request: Any = make_request()
    assert [topic.topic_name for topic in request.topics] == ["__cluster_metadata"]


@pytest.fixture
def serve() -> Iterator[Callable[[bytes], str]]:
    """Serves one connection, and returns its address."""
    listeners: list[socket.socket] = []

    def _serve(body: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def once() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(200)
                connection.sendall(body)

        threading.Thread(target=once, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield _serve
    for listener in listeners:
        listener.close()


def test_describe_quorum_reads_the_whole_answer(serve: Callable[[bytes], str]) -> None:
    body = answer(fetched=(1, 2))
    found = describe_quorum(serve(struct.pack(">i", len(body)) + body), PLAINTEXT)
    assert found == Quorum(100, 7, frozenset({100, 101, 102}))


@pytest.mark.parametrize(
    "body", [b"", b"\0\0", b"\0\0\0\x40abc", b"\x7f\xff\xff\xff", b"\0\0\0\x01a"]
)
def test_describe_quorum_of_something_else_is_transient(
    serve: Callable[[bytes], str], body: bytes
) -> None:
    address = serve(body)
    with pytest.raises(TransientError, match=address):
        describe_quorum(address, PLAINTEXT)


def test_describe_quorum_without_listener_is_transient() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(TransientError, match=address):
        describe_quorum(address, PLAINTEXT)
