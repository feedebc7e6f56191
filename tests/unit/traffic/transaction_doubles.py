"""Doubles of a transactional client and of the sender around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from confluent_kafka import KafkaError, KafkaException

from krt_contract.clients import Acks, ProducerSpec, Transactions
from krt_contract.outcomes import SendOutcome
from krt_traffic.sending.records import Done, Records, Sent
from krt_traffic.sending.sender import Sender
from krt_traffic.sending.transaction_manager import TransactionManager

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Producer

PLAN = ProducerSpec(
    name="p", topic="foo", partitions=1, acks=Acks.ALL, idempotent=True,
    transactions=Transactions(10, 0), records_per_second=500, value_bytes=200, key_count=1,
    compression="none", config={},
)  # fmt: skip
TIMED_OUT = KafkaError(KafkaError._TIMED_OUT, retriable=True)  # noqa: SLF001 - no public name
ABORT = KafkaError(KafkaError.ILLEGAL_GENERATION, txn_requires_abort=True)
FENCED = KafkaError(KafkaError._FENCED, fatal=True)  # noqa: SLF001 - no public name


class ScriptedClient:
    """The client's calls about transactions, answered in the order given; None is success."""

    def __init__(self, *answers: KafkaError | None) -> None:
        self.answers, self.calls = list(answers), list[tuple[Any, ...]]()

    def __getattr__(self, name: str) -> Callable[..., None]:
        def call(*arguments: float) -> None:
            self.calls.append((name.removesuffix("_transaction"), *arguments))
            if name != "begin_transaction" and self.answers and (error := self.answers.pop(0)):
                raise KafkaException(error)

        return call

    @property
    def names(self) -> list[str]:
        return [name for name, *_ in self.calls]


class ScriptedSender(Sender):
    """Every send is reported at once, or with the flush of that number."""

    def __init__(self, records: Records, client: ScriptedClient, flushes: int = 0) -> None:
        self.records, self.flushes = records, flushes
        self.client = cast("Producer", client)

    def send(self, count: int, transaction: int | None = None) -> None:
        for seq in range(self.records.attempted, self.records.attempted + count):
            self.records.in_flight[seq] = Sent(1, 1, transaction)
        self.records.attempted += count
        if not self.flushes:
            self.report(SendOutcome.ACKED, None)

    def report(self, outcome: SendOutcome, error: str | None) -> None:
        for seq, sent in list(self.records.in_flight.items()):
            self.records.report(Done(seq, sent, 2, 2, seq, outcome, error))

    def flush(self, seconds: float) -> None:
        assert seconds > 0
        self.flushes -= 1
        if self.flushes <= 0:
            self.report(SendOutcome.ACKED, None)

    def serve(self, seconds: float) -> None:
        assert seconds == 0


def open_transaction(
    *answers: KafkaError | None, stop_waiting: bool = False, flushes: int = 0
) -> tuple[TransactionManager, Records, ScriptedClient, ScriptedSender]:
    """Return a manager whose open transaction has one send, and what is behind it."""
    records, client = Records(PLAN, "p-0", "u1"), ScriptedClient(*answers)
    sender = ScriptedSender(records, client, flushes)
    manager = TransactionManager(sender, records, lambda: stop_waiting)
    manager.begin()
    sender.send(1, manager.ordinal)
    return manager, records, client, sender
