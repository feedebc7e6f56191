"""The output of a transforming consumer: its sends, their transactions and their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_traffic.consumer.derived_records import DerivedRecords
from krt_traffic.consumer.positions import partition_of
from krt_traffic.rolling_writer import RollingWriter
from krt_traffic.sending.metrics import SendMetrics
from krt_traffic.sending.sender import Sender
from krt_traffic.sending.transaction_manager import TransactionManager

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Message, TopicPartition

    from krt_contract.clients import ProducerSpec
    from krt_contract.kafka_login import Login
    from krt_contract.outcomes import TransactionOutcome
    from krt_contract.plan import Plan
    from krt_contract.sinks.sink import Sink
    from krt_traffic.consumer.positions import Positions


class Output:
    """Sends a record for each input record and commits the input's offsets with them.

    Args:
        plan: the run.
        entry: how the output is written; always in transactions.
        who: identity and incarnation, of the consumer and of the producer alike.
        sink: the bundle.
        stop_waiting: whether to stop waiting for the transaction coordinator.
        login: how the producer logs in.

    Attributes:
        records_per_transaction: after how many input records a transaction ends.
        abort_permille: share of transactions aborted on purpose.
        refused: whether the client refused a record of the open transaction.
        metrics: of the sends.
    """

    def __init__(  # noqa: PLR0913 (what is written, where to, and how it gets in)
        self,
        plan: Plan,
        entry: ProducerSpec,
        who: tuple[str, str],
        sink: Sink,
        stop_waiting: Callable[[], bool],
        *,
        login: Login,
    ) -> None:
        if entry.transactions is None:
            raise RuntimeError("an output is always written in transactions")
        self.records_per_transaction = entry.transactions.records
        self.abort_permille = entry.transactions.abort_permille
        self.refused = False
        self._records = DerivedRecords(entry, *who)
        self._sender = Sender(plan, entry, self._records, *who, login=login)
        self._manager = TransactionManager(self._sender, self._records, stop_waiting)
        self.metrics = SendMetrics(plan.name, who[0], self._records, self._sender)
        stem = "-".join(who)
        self._table = RollingWriter(sink.table("produce", stem))
        self._summary = sink.table("producer_summary", stem)

    def start(self) -> bool:
        """Register with the transaction coordinator; False where waiting for it was stopped.

        Raises:
            FatalClientError: the client is over.
        """
        return self._manager.start()

    @property
    def transaction(self) -> int:
        """Ordinal of the transaction that is open or was last."""
        return self._manager.ordinal

    @property
    def full_file(self) -> bool:
        """Whether the open ledger file is full, and must wait with its number for a flush."""
        return self._table.grown

    def begin(self) -> None:
        """Begin a transaction."""
        self._manager.begin()
        self.refused = False

    def add(self, message: Message) -> int:
        """Take an input record and return the seq of its output record, which ``send`` sends."""
        return self._records.add(message, partition_of(message)[1])

    def send(self, seq: int) -> None:
        """Send the record that was added last.

        Raises:
            FatalClientError: the client is over.
        """
        self._sender.send(1, self.transaction)
        self.refused = self.refused or seq not in self._records.in_flight

    def serve(self) -> None:
        """Take the delivery reports that have come; never blocks.

        Raises:
            FatalClientError: the client is over.
        """
        self._sender.serve(0)

    def commit(self, positions: Positions, offsets: list[TopicPartition]) -> TransactionOutcome:
        """Send the input's offsets and commit; returns and raises as the transaction manager."""
        return self._manager.commit(self._send_offsets(positions, offsets))

    def abort(
        self, positions: Positions, offsets: list[TopicPartition] | None, *, answered: bool
    ) -> TransactionOutcome:
        """Abort the open transaction; returns and raises as the transaction manager.

        Args:
            positions: knows the consumer, whose group the offsets are of.
            offsets: the input's, sent before; None where they belong to another member.
            answered: whether to wait for the answers to all sends before.
        """
        if offsets is None:
            return self._manager.abort()
        send_offsets = self._send_offsets(positions, offsets)

        def first(seconds: float) -> None:
            if answered:
                self._manager.await_answers(seconds)
            send_offsets(seconds)

        return self._manager.abort(first)

    def flush(self, *, roll: bool) -> None:
        """Make the rows durable; for the ledger's thread.

        Args:
            roll: whether the open file may get its number now.
        """
        done, in_flight = self._records.snapshot()
        self.metrics.update()
        self._table.flush(done, in_flight, roll=roll)

    def finish(self) -> dict[str, int]:
        """Give up what is open and return the counts of the sends."""
        self._sender.purge()
        self._manager.abandon()
        return {"attempted": self._records.attempted, **self._records.counts}

    def close(self) -> None:
        """Make the last rows durable, after the ledger's thread has ended."""
        self._table.close(self._records.snapshot()[0])
        self._summary.write(self._records.summary())

    def _send_offsets(
        self, positions: Positions, offsets: list[TopicPartition]
    ) -> Callable[[float], None]:
        def send(seconds: float) -> None:
            group = positions.client.consumer_group_metadata()
            self._sender.client.send_offsets_to_transaction(offsets, group, seconds)

        return send
