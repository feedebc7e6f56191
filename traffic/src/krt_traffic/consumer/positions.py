"""Owned partitions: how far their records were delivered, and how far that is committed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from confluent_kafka import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka import Consumer, KafkaError, Message

    from krt_traffic.consumer.event_buffer import EventBuffer

Partition = tuple[str, int]


class Positions(ABC):
    """Positions of the owned partitions; each way of committing them is a subclass.

    Args:
        buffer: where deliveries and commits are recorded.

    Attributes:
        client: the consumer; set before the first partition is owned.
        positions: owned partition → next offset to be delivered.
        epochs: owned partition → leader epoch of the last record before that position. Committed
            with it, so that the next owner's client can tell a truncated log from a grown one.
        succeeded: commits of a partition known to have been written.
    """

    client: Consumer

    def __init__(self, buffer: EventBuffer) -> None:
        self.positions: dict[Partition, int] = {}
        self.epochs: dict[Partition, int] = {}
        self.succeeded = 0
        self._buffer = buffer
        self._committed: dict[Partition, int] = {}

    def own(
        self, partition: Partition, start: int, committed: int | None, epoch: int | None
    ) -> None:
        """Start at ``start``; ``committed`` is the group's offset, None where there is none."""
        self.positions[partition] = start
        if epoch is not None and epoch >= 0:
            self.epochs[partition] = epoch
        if committed is None:
            self._committed.pop(partition, None)
        else:
            self._committed[partition] = committed

    def disown(self, partitions: Iterable[Partition]) -> None:
        """Forget partitions that this member no longer owns."""
        for partition in partitions:
            self.positions.pop(partition, None)
            self.epochs.pop(partition, None)
            self._committed.pop(partition, None)

    def deliver(self, message: Message, index: int) -> None:
        """Deliver one record, as number ``index`` of the current poll."""
        self._buffer.deliver(message, index)
        self._passed(message)

    def topic_partitions(self, offsets: dict[Partition, int]) -> list[TopicPartition]:
        """Return offsets as the client takes them, with the epochs that go with them."""
        found = []
        for (topic, partition), offset in offsets.items():
            epoch = self.epochs.get((topic, partition))
            if epoch is None:
                found.append(TopicPartition(topic, partition, offset))
            else:
                found.append(TopicPartition(topic, partition, offset, leader_epoch=epoch))
        return found

    @property
    def full(self) -> bool:
        """Whether a commit must come before the next record is delivered."""
        return False

    @property
    @abstractmethod
    def clean(self) -> bool:
        """Whether everything up to the positions is known to be committed."""

    @abstractmethod
    def step(self) -> None:
        """Go on with the commit that is due or under way."""

    @abstractmethod
    def settle(self, partitions: Iterable[Partition]) -> None:
        """Commit the positions of partitions about to be given up; blocks until answered."""

    @abstractmethod
    def lose(self, partitions: Iterable[Partition]) -> None:
        """Take that other members own the partitions already; nothing may be committed."""

    @abstractmethod
    def answered(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Take the answer to a commit, from the client's callback."""

    def _passed(self, message: Message) -> None:
        topic, partition, offset = location_of(message)
        self.positions[topic, partition] = offset + 1
        if (epoch := message.leader_epoch()) is not None:
            self.epochs[topic, partition] = epoch

    def _dirty(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return {
            partition: self.positions[partition]
            for partition in partitions
            if partition in self.positions
            and self._committed.get(partition) != self.positions[partition]
        }


def partition_of(message: Message) -> Partition:
    """Return the topic and partition a record or an error of one partition is about.

    Raises:
        RuntimeError: it has none; the client promises them for both.
    """
    topic, partition = message.topic(), message.partition()
    if topic is None or partition is None:
        raise RuntimeError(f"the client gave a message without its partition: {message.error()}")
    return topic, partition


def location_of(message: Message) -> tuple[str, int, int]:
    """Return topic, partition and offset of a record or an end of partition.

    Other errors may have no offset: a truncation has none.

    Raises:
        RuntimeError: it lacks one.
    """
    offset = message.offset()
    if offset is None:
        raise RuntimeError(f"the client gave a message without its offset: {message.error()}")
    return (*partition_of(message), offset)
