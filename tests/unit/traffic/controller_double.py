"""A double of KRaft controllers: a log, a leader, and answers to fetches over TCP."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.record.memory_records import MemoryRecordsBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

VERSION = 17
NOT_LEADER, UNKNOWN_LEADER_EPOCH = 6, 76
MILLIS = 1_795_552_295_545


def varint(number: int) -> bytes:
    found = bytearray()
    while True:
        byte, number = number & 0x7F, number >> 7
        found.append(byte | (0x80 if number else 0))
        if not number:
            return bytes(found)


def change(
    topic: UUID,
    partition: int,
    *,
    isr: Sequence[int] | None = None,
    leader: int | None = None,
    elr: Sequence[int] | None = None,
) -> bytes:
    """Return a PARTITION_CHANGE_RECORD of version 2."""
    tags: list[tuple[int, bytes]] = []
    if isr is not None:
        tags.append((0, ids(isr)))
    if leader is not None:
        tags.append((1, struct.pack(">i", leader)))
    if elr is not None:
        tags.append((6, ids(elr)))
    body = struct.pack(">i", partition) + topic.bytes + varint(len(tags))
    body += b"".join(varint(tag) + varint(len(value)) + value for tag, value in tags)
    return bytes([1, 5, 2]) + body


def ids(values: Sequence[int]) -> bytes:
    return varint(len(values) + 1) + b"".join(struct.pack(">i", value) for value in values)


def topic_record(name: str, topic: UUID) -> bytes:
    return bytes([1, 2, 0]) + varint(len(name) + 1) + name.encode() + topic.bytes + b"\0"


def feature_level(name: str, level: int) -> bytes:
    text = varint(len(name) + 1) + name.encode()
    return bytes([1, 12, 0]) + text + struct.pack(">h", level) + b"\0"


def no_op() -> bytes:
    return bytes([1, 20, 0, 0])


def batch(offset: int, epoch: int, *values: bytes, millis: int = MILLIS) -> bytes:
    """Return one batch as a controller writes it."""
    builder = MemoryRecordsBuilder(2, 0, 1 << 20, offset)
    for value in values:
        builder.append(millis, None, value)
    builder.close()
    data = bytearray(builder.buffer())
    data[12:16] = struct.pack(">i", epoch)
    return bytes(data)


@dataclass
class Log:
    """What all controllers have; ``hw`` is what their leader knows to be committed."""

    records: list[tuple[int, bytes]] = field(default_factory=list)
    """Quorum epoch and value of each offset."""
    hw: int = -1
    leader: int = 100
    epoch: int = 1

    def add(self, *values: bytes) -> None:
        self.records += [(self.epoch, value) for value in values]

    def commit(self) -> None:
        self.hw = len(self.records)


class ControllerDouble:
    """One controller; ``requests`` holds (offset, last fetched epoch, leader epoch) of each."""

    def __init__(self, node: int, log: Log) -> None:
        self.node, self.log = node, log
        self.requests: list[tuple[int, int, int]] = []
        self.garbled = 0
        """How many of the next answers are none of Kafka's."""
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        # A thread that waits in accept() keeps the socket alive beyond its close.
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for connection in self._open:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        # Closed by the test or the follower, at any time.
        with contextlib.suppress(OSError, ValueError):
            self._answer_all(connection)

    def _answer_all(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        while head := stream.read(4):
            request = FetchRequest.decode(
                stream.read(struct.unpack(">i", head)[0]), version=VERSION, header=True
            )
            answer = self._answer(request)
            if self.garbled:
                self.garbled -= 1
                connection.sendall(struct.pack(">i", 5) + b"hello")
                continue
            # The library encodes the headers of requests only: the id, and no tagged field.
            head = struct.pack(">ib", request.header.correlation_id, 0)
            body = head + answer.encode(version=VERSION)
            connection.sendall(struct.pack(">i", len(body)) + body)

    def _answer(self, request: Any) -> Any:
        asked = request.topics[0].partitions[0]
        offset, epoch = asked.fetch_offset, asked.current_leader_epoch
        self.requests.append((offset, asked.last_fetched_epoch, epoch))
        log = self.log
        error, data = 0, b""
        if log.leader != self.node:
            error = NOT_LEADER
        elif epoch != log.epoch:
            error = UNKNOWN_LEADER_EPOCH
        else:
            data = b"".join(
                batch(at, written, value)
                for at, (written, value) in enumerate(log.records)
                if at >= offset
            )
        topic = FetchResponse.FetchableTopicResponse
        data_class = topic.PartitionData
        partition = data_class(
            partition_index=0,
            error_code=error,
            high_watermark=log.hw,
            last_stable_offset=log.hw,
            log_start_offset=0,
            current_leader=data_class.LeaderIdAndEpoch(
                leader_id=log.leader, leader_epoch=log.epoch, version=VERSION
            ),
            aborted_transactions=None,
            preferred_read_replica=-1,
            records=data,
            version=VERSION,
        )
        return FetchResponse(
            throttle_time_ms=0,
            error_code=0,
            session_id=0,
            responses=[
                topic(topic_id=request.topics[0].topic_id, partitions=[partition], version=VERSION)
            ],
            node_endpoints=[],
            version=VERSION,
        )
