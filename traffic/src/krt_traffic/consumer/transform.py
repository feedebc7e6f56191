"""Consume, transform, produce: offsets are committed in the transaction of the output records.

An input record is delivered and its output sent in one transaction, whose end decides for both:
the delivery, the output and the commit count, or none of them does. Every row, of input and
output, is durable as unknown before the offsets are sent, so that whatever is committed has its
rows.
"""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome, TransactionOutcome
from krt_traffic.clock import mono
from krt_traffic.consumer.positions import Partition, Positions
from krt_traffic.errors import FatalClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from confluent_kafka import KafkaError, Message, TopicPartition

    from krt_traffic.consumer.event_buffer import EventBuffer
    from krt_traffic.consumer.output import Output
    from krt_traffic.ledger_thread import LedgerThread
    from krt_traffic.sending.metrics import SendMetrics

log = logging.getLogger(__name__)

LONGEST_MICROS = 500_000
"""Age at which an open transaction ends however few records it has: each end waits for the ledger,
which must not be every few records."""

EVENTS = {
    TransactionOutcome.COMMITTED: ConsumerEvent.COMMITTED,
    TransactionOutcome.ABORTED: ConsumerEvent.COMMIT_FAILED,
    TransactionOutcome.UNKNOWN: ConsumerEvent.COMMIT_UNKNOWN,
}
"""Outcome of a transaction → event of each offset sent with it."""

DELIVERIES = {
    TransactionOutcome.COMMITTED: DeliveryOutcome.OK,
    TransactionOutcome.ABORTED: DeliveryOutcome.FAILED,
    TransactionOutcome.UNKNOWN: DeliveryOutcome.UNKNOWN,
}
"""Outcome of a transaction → outcome of the deliveries in it."""


class Transform(Positions):
    """Positions committed in transactions, with the output of the records before them.

    Args:
        buffer: where deliveries and commits are recorded.
        ledger: makes rows durable.
        output: sends a record for each delivered one.
        seed: decides which transactions are aborted on purpose.

    Attributes:
        seek: goes back on an owned partition; set before the first is owned.
        ending: whether a transaction is being ended, whose rows must stay durable.
    """

    seek: Callable[[Partition, int], None]

    def __init__(
        self, buffer: EventBuffer, ledger: LedgerThread, output: Output, seed: str
    ) -> None:
        super().__init__(buffer)
        self.ending = False
        self._ledger, self._output = ledger, output
        # Which transactions abort must be repeatable; nothing here is a secret.
        self._random = random.Random(seed)  # noqa: S311 - see above
        self._safe: dict[Partition, tuple[int, int | None]] = {}
        self._open = False
        self._size = 0
        self._since = 0
        self._fatal: FatalClientError | None = None

    @property
    def metrics(self) -> SendMetrics:
        """Those of the output."""
        return self._output.metrics

    def start(self) -> bool:
        """Register with the transaction coordinator; False where waiting for it was stopped.

        Raises:
            FatalClientError: the client is over.
        """
        return self._output.start()

    def own(
        self, partition: Partition, start: int, committed: int | None, epoch: int | None
    ) -> None:
        """Start at ``start``, which is also where an abort leads back to."""
        super().own(partition, start, committed, epoch)
        self._safe[partition] = (start, epoch)

    def disown(self, partitions: Iterable[Partition]) -> None:
        """Forget partitions that this member no longer owns."""
        gone = list(partitions)
        super().disown(gone)
        for partition in gone:
            self._safe.pop(partition, None)

    def deliver(self, message: Message, index: int) -> None:
        """Deliver one record and send its output, in the open transaction.

        Raises:
            FatalClientError: the producing client is over.
        """
        if self._fatal is not None:
            raise self._fatal
        self._begin()
        seq = self._output.add(message)
        self._buffer.deliver(message, index, self._output.transaction, seq)
        self._size += 1
        self._passed(message)
        self._output.send(seq)

    @property
    def full(self) -> bool:
        """Whether the open transaction must end before the next record is delivered."""
        return self._open and (
            self._output.refused or self._size >= self._output.records_per_transaction
        )

    @property
    def clean(self) -> bool:
        """Whether everything up to the positions is known to be committed."""
        return not self._open and not self._dirty(self.positions)

    def step(self) -> None:
        """End the transaction that is due; blocks until the coordinator has answered.

        Raises:
            FatalClientError: the producing client is over.
        """
        if self._fatal is not None:
            raise self._fatal
        self._output.serve()
        if self._open:
            if self.full or mono() - self._since >= LONGEST_MICROS:
                self._end()
        elif self._dirty(self.positions):
            # Nothing but transaction markers was passed: offsets alone.
            self._begin()
            self._end()

    def settle(self, partitions: Iterable[Partition]) -> None:
        """End the open transaction before partitions are given up; blocks until answered."""
        self._end_within_callback(set(partitions), commit=True)

    def lose(self, partitions: Iterable[Partition]) -> None:
        """Abort the open transaction: some of its input belongs to another member."""
        self._end_within_callback(set(partitions), commit=False)

    def answered(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Do nothing: offsets are sent through the producer, and the client commits none."""

    def flush(self) -> None:
        """Make the output's rows durable; for the ledger's thread."""
        self._output.flush(roll=not self.ending)

    def finish(self) -> dict[str, int]:
        """Give up what is open and return the counts of the output."""
        counts = self._output.finish()
        self._buffer.resolve(DeliveryOutcome.UNKNOWN)
        return counts

    def close(self) -> None:
        """Make the last rows durable, after the ledger's thread has ended."""
        self._output.close()

    def _begin(self) -> None:
        if not self._open:
            self._output.begin()
            self._open, self._since = True, mono()

    def _end_within_callback(self, leaving: set[Partition], *, commit: bool) -> None:
        if self._fatal is not None or not self._open:
            return
        try:
            self._end(leaving, commit=commit)
        except FatalClientError as fatal:
            # Raised by the next step: this runs in a callback of the consuming client.
            log.info("while partitions were given up: %s", fatal)

    def _end(self, leaving: Iterable[Partition] = (), *, commit: bool = True) -> None:
        dirty = self._dirty(self.positions)
        offsets, epochs = self.topic_partitions(dirty), dict(self.epochs)
        on_purpose = self._size and self._random.randrange(1000) < self._output.abort_permille
        why = "aborted on purpose" if on_purpose else None if commit else "partitions were lost"
        outcome = TransactionOutcome.UNKNOWN
        self.ending = True
        try:
            self._ledger.settle()
            if why or self._output.refused:
                # Offsets of lost partitions belong to another member. Where nothing is wrong, the
                # sends are answered first, so that their rows say that the broker had acked them.
                outcome = self._output.abort(
                    self,
                    offsets if commit else None,
                    answered=bool(on_purpose) and not self._output.refused,
                )
            else:
                outcome = self._output.commit(self, offsets)
        except FatalClientError as fatal:
            self._fatal, why = fatal, str(fatal)
            raise
        finally:
            # Before files may be closed again: what is not resolved must not be left behind in one.
            self._record_end(outcome, dirty, why)
            self.ending = False
        if outcome is TransactionOutcome.COMMITTED:
            self._safe |= {item: (offset, epochs.get(item)) for item, offset in dirty.items()}
        elif outcome is TransactionOutcome.ABORTED:
            self._go_back(set(leaving))
        else:
            self._fatal = FatalClientError("the last transaction was left undecided")
        if self._output.full_file:
            self._ledger.request()

    def _record_end(
        self, outcome: TransactionOutcome, offsets: dict[Partition, int], why: str | None
    ) -> None:
        transaction = self._output.transaction
        self._buffer.resolve(DELIVERIES[outcome])
        detail = why if outcome is not TransactionOutcome.COMMITTED else None
        for partition, offset in offsets.items():
            self._buffer.event(
                EVENTS[outcome], *partition, offset, detail=detail, transaction=transaction
            )
            if outcome is TransactionOutcome.COMMITTED:
                self.succeeded += 1
                self._committed[partition] = offset
        self._open, self._size = False, 0

    def _go_back(self, leaving: set[Partition]) -> None:
        """Return to what is committed, on every partition that this member keeps."""
        for partition, (offset, epoch) in self._safe.items():
            if partition in leaving or self.positions[partition] == offset:
                continue
            self.positions[partition] = offset
            self.epochs.pop(partition, None)
            if epoch is not None and epoch >= 0:
                self.epochs[partition] = epoch
            self.seek(partition, offset)
            self._buffer.event(
                ConsumerEvent.SEEK, *partition, offset, detail="its transaction was aborted"
            )
