"""Consume, transform, produce: offsets are committed in the transaction of what was made.

A record is handed out and made into another in one transaction, whose end decides for both: the
delivery, the output and the commit count, or none of them does. Every row, of input and output,
is durable as unknown before the offsets are sent, so that whatever is committed has its rows.
"""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING

from krt_contract.ledger import LedgerWriter
from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome, TransactionOutcome
from krt_traffic.clock import mono
from krt_traffic.consumer.outputs import Outputs
from krt_traffic.consumer.positions import Partition, Positions, partition_of
from krt_traffic.errors import FatalClientError
from krt_traffic.ledger import Rolling, writer
from krt_traffic.producer.coordinator import Coordinator
from krt_traffic.producer.sender import Sender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from confluent_kafka import KafkaError, Message, TopicPartition

    from krt_contract.clients import ProducerSpec, Transactions
    from krt_contract.plan import Plan
    from krt_traffic.consumer.event_buffer import Journal
    from krt_traffic.ledger import LedgerThread

log = logging.getLogger(__name__)

LONGEST = 500_000
"""Microseconds a transaction is open at most before it is ended: each end waits for the ledger,
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
"""Outcome of a transaction → outcome of what was handed out in it."""


class Transform(Positions):
    """Positions committed in transactions, with what was made of the records before them.

    Args:
        journal: where deliveries and commits are noted.
        ledger: makes rows durable.
        plan: the run.
        output: how the output is written.
        who: identity and incarnation, of the consumer and of the producer alike.
        folder: the bundle.
        given_up: whether to stop waiting for the coordinator.

    Attributes:
        seek: goes back on an owned partition; set before the first is owned.
        ending: whether a transaction is being ended, whose rows must stay durable.
        sends: counts of the output.
    """

    seek: Callable[[Partition, int], None]

    def __init__(  # noqa: PLR0913, PLR0917 - each named at the one call
        self,
        journal: Journal,
        ledger: LedgerThread,
        plan: Plan,
        output: ProducerSpec,
        who: tuple[str, str],
        folder: Path,
        given_up: Callable[[], bool],
    ) -> None:
        super().__init__(journal)
        self.ending = False
        self._ledger, self._output = ledger, output
        self._records = Outputs(output, *who)
        self._sender = Sender(plan, output, self._records, *who)
        self._coordinator = Coordinator(self._sender, self._records, given_up)
        # Which transactions abort must be repeatable; nothing here is a secret.
        self._random = random.Random(f"{plan.seed}-{who[0]}")  # noqa: S311 - see above
        self._table = Rolling(writer(folder, "produce", *who))
        self._close = LedgerWriter(folder / "producer_summary", "producer_summary", "-".join(who))
        self._safe: dict[Partition, tuple[int, int | None]] = {}
        self._open = False
        self._held = 0
        self._since = 0
        self._refused = False
        self._over: FatalClientError | None = None

    def start(self) -> bool:
        """Register with the coordinator; False where it was given up.

        Raises:
            FatalClientError: the client is over.
        """
        return self._coordinator.start()

    def own(
        self, partition: Partition, start: int, committed: int | None, epoch: int | None
    ) -> None:
        """Start at ``start``, which is also where an abort leads back to."""
        super().own(partition, start, committed, epoch)
        self._safe[partition] = (start, epoch)

    def disown(self, partitions: Iterable[Partition]) -> None:
        """Forget partitions that are no longer ours."""
        gone = list(partitions)
        super().disown(gone)
        for partition in gone:
            self._safe.pop(partition, None)

    def hand(self, message: Message, position: int) -> None:
        """Hand one record out and send what it is made into, in the open transaction.

        Raises:
            FatalClientError: the producing client is over.
        """
        if self._over is not None:
            raise self._over
        self._begin()
        seq = self._records.add(message, partition_of(message)[1])
        self._journal.hand(message, position, self._coordinator.ordinal, seq)
        self._held += 1
        self._passed(message)
        self._sender.send(1, self._coordinator.ordinal)
        self._refused = self._refused or seq not in self._records.in_flight

    @property
    def full(self) -> bool:
        """Whether the open transaction must end before the next record is handed out."""
        return self._refused or self._held >= self._transactions.records

    @property
    def clean(self) -> bool:
        """Whether everything up to the positions is known to be committed."""
        return not self._open and not self._dirty(self.positions)

    def step(self) -> None:
        """End the transaction that is due; blocks until the coordinator has answered.

        Raises:
            FatalClientError: the producing client is over.
        """
        if self._over is not None:
            raise self._over
        self._sender.serve(0)
        if self._open:
            if self.full or mono() - self._since >= LONGEST:
                self._end()
        elif self._dirty(self.positions):
            # Nothing but transaction markers was passed: offsets alone.
            self._begin()
            self._end()

    def settle(self, partitions: Iterable[Partition]) -> None:
        """End the open transaction before partitions are given up; blocks until answered."""
        self._end_within_callback(set(partitions), commit=True)

    def lose(self, partitions: Iterable[Partition]) -> None:
        """Abort the open transaction: some of its input belongs to somebody else."""
        self._end_within_callback(set(partitions), commit=False)

    def answered(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Nothing to take: offsets are sent through the producer."""

    def flush(self) -> None:
        """Make the output's rows durable; for the ledger's thread."""
        self._table.flush(*self._records.snapshot(), roll=not self.ending)

    def finish(self) -> dict[str, int]:
        """Give up what is open and return the counts of the output."""
        self._sender.purge()
        self._coordinator.abandon()
        self._journal.decide(DeliveryOutcome.UNKNOWN)
        return {"attempted": self._records.attempted, **self._records.counts}

    def close(self) -> None:
        """Make the last rows durable, after the ledger's thread has ended."""
        self._table.close(self._records.snapshot()[0])
        self._close.write(self._records.close_row())

    @property
    def _transactions(self) -> Transactions:
        if self._output.transactions is None:
            raise RuntimeError("an output is always written in transactions")
        return self._output.transactions

    def _begin(self) -> None:
        if not self._open:
            self._coordinator.begin()
            self._open, self._since = True, mono()

    def _end_within_callback(self, leaving: set[Partition], *, commit: bool) -> None:
        if self._over is not None or not self._open:
            return
        try:
            self._end(leaving, commit=commit)
        except FatalClientError as fatal:
            # Raised by the next step: the client calls us here.
            log.info("while partitions were given up: %s", fatal)

    def _end(self, leaving: Iterable[Partition] = (), *, commit: bool = True) -> None:
        dirty = self._dirty(self.positions)
        offsets, epochs = self.places(dirty), dict(self.epochs)
        on_purpose = self._held and self._random.randrange(1000) < self._transactions.abort_permille
        why = "aborted on purpose" if on_purpose else None if commit else "partitions were lost"
        outcome = TransactionOutcome.UNKNOWN
        self.ending = True
        try:
            self._ledger.settle()
            if on_purpose and commit and not self._refused:
                outcome = self._coordinator.abort(self._answered(offsets))
            elif why or self._refused:
                # Lost partitions' offsets are nothing of ours to send.
                outcome = self._coordinator.abort(self._send(offsets) if commit else None)
            else:
                outcome = self._coordinator.commit(self._send(offsets))
        except FatalClientError as fatal:
            self._over, why = fatal, str(fatal)
            raise
        finally:
            self.ending = False
            self._decided(outcome, dirty, why)
        if outcome is TransactionOutcome.COMMITTED:
            self._safe |= {item: (offset, epochs.get(item)) for item, offset in dirty.items()}
        elif outcome is TransactionOutcome.ABORTED:
            self._go_back(set(leaving))
        else:
            self._over = FatalClientError("the last transaction was left undecided")
        if self._table.grown:
            self._ledger.request()

    def _answered(self, offsets: list[TopicPartition]) -> Callable[[float], None]:
        send = self._send(offsets)

        def both(seconds: float) -> None:
            self._coordinator.answered(seconds)
            send(seconds)

        return both

    def _send(self, offsets: list[TopicPartition]) -> Callable[[float], None]:
        def send(seconds: float) -> None:
            group = self.client.consumer_group_metadata()
            self._sender.client.send_offsets_to_transaction(offsets, group, seconds)

        return send

    def _decided(
        self, outcome: TransactionOutcome, offsets: dict[Partition, int], why: str | None
    ) -> None:
        transaction = self._coordinator.ordinal
        self._journal.decide(DELIVERIES[outcome])
        detail = why if outcome is not TransactionOutcome.COMMITTED else None
        for partition, offset in offsets.items():
            self._journal.event(
                EVENTS[outcome], *partition, offset, detail=detail, transaction=transaction
            )
            if outcome is TransactionOutcome.COMMITTED:
                self.succeeded += 1
                self._committed[partition] = offset
        self._open, self._held, self._refused = False, 0, False

    def _go_back(self, leaving: set[Partition]) -> None:
        """Return to what is committed, on every partition that stays ours."""
        for partition, (offset, epoch) in self._safe.items():
            if partition in leaving or self.positions[partition] == offset:
                continue
            self.positions[partition] = offset
            self.epochs.pop(partition, None)
            if epoch is not None and epoch >= 0:
                self.epochs[partition] = epoch
            self.seek(partition, offset)
            self._journal.event(
                ConsumerEvent.SEEK, *partition, offset, detail="its transaction was aborted"
            )
