"""Committing positions by themselves, once the rows of the records before them are durable."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from krt_contract.clients import Commit
from krt_contract.outcomes import ConsumerEvent
from krt_traffic.clock import mono
from krt_traffic.consumer.positions import Partition, Positions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_traffic.consumer.event_buffer import EventBuffer
    from krt_traffic.ledger_thread import LedgerThread

log = logging.getLogger(__name__)

INTERVAL_MICROS = 500_000
"""Microseconds between two commits: each one waits for the ledger, which must not be every few
records."""

REJECTIONS = frozenset(
    {
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.STALE_MEMBER_EPOCH,
        KafkaError.FENCED_MEMBER_EPOCH,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.OFFSET_METADATA_TOO_LARGE,
        KafkaError.INVALID_COMMIT_OFFSET_SIZE,
    }
)
"""The coordinator refused the commit. After anything else it may have been written."""

NOTHING_TO_COMMIT = KafkaError._NO_OFFSET  # noqa: SLF001 - no public name


def event_of(code: int | None) -> ConsumerEvent:
    """Return the event for the code of a commit's answer (None: no error)."""
    if code is None:
        return ConsumerEvent.COMMITTED
    return ConsumerEvent.COMMIT_FAILED if code in REJECTIONS else ConsumerEvent.COMMIT_UNKNOWN


class Commits(Positions):
    """Commits positions once the rows of the records before them are durable.

    Args:
        buffer: where commits are recorded.
        ledger: makes rows durable.
        mode: AfterProcessing, BeforeProcessing or Auto.
    """

    def __init__(self, buffer: EventBuffer, ledger: LedgerThread, mode: Commit) -> None:
        super().__init__(buffer)
        self._ledger, self._mode = ledger, mode
        self._covered: dict[Partition, int] = {}
        self._ticket = 0
        self._in_flight = False
        self._next_at = 0

    def disown(self, partitions: Iterable[Partition]) -> None:
        """Forget partitions that this member no longer owns."""
        gone = list(partitions)
        super().disown(gone)
        for partition in gone:
            self._covered.pop(partition, None)

    @property
    def clean(self) -> bool:
        """Whether everything up to the positions is known to be committed."""
        return not self._dirty(self.positions)

    def step(self) -> None:
        """Go on with the commit that is due or under way; never blocks."""
        if self._in_flight:
            return
        if self._covered:
            if self._ledger.durable >= self._ticket:
                self._submit()
        elif mono() >= self._next_at and (dirty := self._dirty(self.positions)):
            self._covered = dirty
            self._ticket = self._ledger.request()

    def settle(self, partitions: Iterable[Partition]) -> None:
        """Commit the positions of partitions about to be given up; blocks until answered.

        The client waits for the coordinator no longer than the session timeout.
        """
        self._ledger.settle()
        dirty = self._dirty(partitions)
        for partition in dirty:
            self._covered.pop(partition, None)
        if not dirty:
            return
        if self._mode is Commit.AUTO:
            self._store(dirty)  # the client commits stored offsets as it gives partitions up
            return
        offsets = self.topic_partitions(dirty)
        try:
            answered = self.client.commit(offsets=offsets, asynchronous=False)
        except KafkaException as exception:
            self._record(exception.args[0], offsets)
        else:
            self._record(None, answered or offsets)

    def lose(self, partitions: Iterable[Partition]) -> None:
        """Do nothing: records that were delivered stay so."""

    def answered(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Take the answer to a commit, from the client's callback."""
        self._in_flight = False
        self._record(error, partitions)

    def _submit(self) -> None:
        covered = {
            partition: offset
            for partition, offset in self._covered.items()
            if partition in self.positions
        }
        self._covered = {}
        self._next_at = mono() + INTERVAL_MICROS
        if not covered:
            return
        if self._mode is Commit.AUTO:
            self._store(covered)
            return
        try:
            self.client.commit(offsets=self.topic_partitions(covered), asynchronous=True)
            self._in_flight = True
        except KafkaException as exception:
            self._record(exception.args[0], self.topic_partitions(covered))

    def _store(self, offsets: dict[Partition, int]) -> None:
        try:
            self.client.store_offsets(offsets=self.topic_partitions(offsets))
        except KafkaException as exception:
            # The partition is going to another member, which starts at the committed offset.
            log.info("offsets not stored, as their partitions are being revoked: %s", exception)

    def _record(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        for item in partitions:
            cause = item.error or error
            code = cause.code() if cause else None
            if code == NOTHING_TO_COMMIT or item.offset < 0:
                continue
            partition = (item.topic, item.partition)
            name = event_of(code)
            detail = cause.name() if cause else None
            self._buffer.event(name, *partition, item.offset, detail=detail)
            if name is not ConsumerEvent.COMMITTED:
                continue
            self.succeeded += 1
            if partition in self.positions:
                self._committed[partition] = item.offset
            if self._mode is Commit.BEFORE_PROCESSING:
                self._buffer.event(ConsumerEvent.PROCESSED, *partition, item.offset)
