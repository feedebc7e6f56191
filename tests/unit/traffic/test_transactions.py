"""When transactions begin and end, whatever the coordinator does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from krt_contract.outcomes import SendOutcome
from krt_contract.clients import Acks, ProducerSpec, Transactions
from krt_traffic.errors import FatalClientError
from krt_traffic.producer.coordinator import LAST_CALL_SECONDS, Coordinator
from krt_traffic.producer.records import Done, Records, Sent
from krt_traffic.producer.transactions import TransactionalSender

if TYPE_CHECKING:
    from collections.abc import Callable

PLAN = ProducerSpec(
    name="p", topic="foo", partitions=1, acks=Acks.ALL, idempotent=True,
    transactions=Transactions(10, 0), records_per_second=500, value_bytes=200, key_count=1,
    compression="none", config={},
)  # fmt: skip
TIMED_OUT = KafkaError(KafkaError._TIMED_OUT, retriable=True)  # noqa: SLF001 - no public name
ABORT = KafkaError(KafkaError.ILLEGAL_GENERATION, txn_requires_abort=True)
FENCED = KafkaError(KafkaError._FENCED, fatal=True)  # noqa: SLF001 - no public name


class Client:
    """The client's calls about transactions, answered in the order given; None is success."""

    def __init__(self, *answers: KafkaError | None) -> None:
        self.answers, self.calls = list(answers), list[tuple[Any, ...]]()

    def __getattr__(self, name: str) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            self.calls.append((name.removesuffix("_transaction"), *arguments))
            if name != "begin_transaction" and self.answers and (error := self.answers.pop(0)):
                raise KafkaException(error)

        return call


class Sends:
    """What a transaction needs of a sender: every send is reported at once, or when flushed."""

    def __init__(self, records: Records, client: Client, flushes: int = 0) -> None:
        self.records, self.client, self.flushes = records, client, flushes

    def send(self, count: int, transaction: int) -> None:
        for seq in range(self.records.attempted, self.records.attempted + count):
            self.records.in_flight[seq] = Sent(1, 1, transaction)
        self.records.attempted += count
        if not self.flushes:
            self.report(SendOutcome.ACKED, None)

    def report(self, outcome: SendOutcome, error: str | None) -> None:
        for seq, sent in list(self.records.in_flight.items()):
            self.records.report(Done(seq, sent, 2, 2, seq, outcome, error))

    def flush(self, _: float) -> None:
        self.flushes -= 1
        if self.flushes <= 0:
            self.report(SendOutcome.ACKED, None)

    def serve(self, _: float) -> None:
        pass


def coordinated(*answers: KafkaError | None, given_up: bool = False) -> tuple[Any, ...]:
    records, client = Records(PLAN, "p-0", "u1"), Client(*answers)
    sends: Any = Sends(records, client)
    coordinator = Coordinator(sends, records, lambda: given_up)
    coordinator.begin()
    sends.send(1, coordinator.ordinal)
    return coordinator, records, client


@pytest.mark.parametrize(
    ("answers", "outcome", "send"),
    [
        ([None], "committed", "acked"),
        ([TIMED_OUT, None], "committed", "acked"),
        ([ABORT, None], "aborted", "failed"),
        ([TIMED_OUT, ABORT, TIMED_OUT, None], "aborted", "failed"),
    ],
)
def test_a_commit_goes_on_until_it_is_decided(
    answers: list[KafkaError | None], outcome: str, send: str
) -> None:
    coordinator, records, _ = coordinated(*answers)
    assert coordinator.commit() == outcome
    (row,) = records.snapshot()[0].to_pylist()
    assert (row["outcome"], row["transaction_outcome"]) == (send, outcome)


def test_offsets_that_are_refused_abort_what_they_belong_to() -> None:
    coordinator, records, client = coordinated()
    asked = []

    def offsets(seconds: float) -> None:
        asked.append(seconds)
        raise KafkaException(TIMED_OUT if len(asked) == 1 else ABORT)

    assert coordinator.commit(offsets) == "aborted"
    assert len(asked) == 2
    assert [name for name, *_ in client.calls] == ["begin", "abort"]
    assert records.counts["failed"] == 1


def test_who_is_told_to_end_still_tries_once_and_briefly() -> None:
    coordinator, records, client = coordinated(TIMED_OUT, given_up=True)
    assert coordinator.commit() == "unknown"
    assert client.calls == [("begin",), ("commit", LAST_CALL_SECONDS)]
    assert records.counts["unknown"] == 1


def test_a_fenced_producer_is_over_and_its_sends_are_unknown() -> None:
    coordinator, records, _ = coordinated(FENCED)
    with pytest.raises(FatalClientError, match="_FENCED"):
        coordinator.commit()
    assert records.counts["unknown"] == 1


@pytest.mark.parametrize("flushes", [1, 3])
def test_what_is_aborted_on_purpose_is_answered_before(flushes: int) -> None:
    records, client = Records(PLAN, "p-0", "u1"), Client()
    sends: Any = Sends(records, client, flushes)
    always = Transactions(10, 1000)
    sender = TransactionalSender(
        sends, records, always, "seed", given_up=lambda: False, told_to_stop=lambda: False
    )
    sender.send(10)
    assert sends.flushes == 0
    assert [name for name, *_ in client.calls] == ["begin", "abort"]
    rows = records.snapshot()[0].to_pylist()
    told = {(row["outcome"], row["error"], row["transaction_outcome"]) for row in rows}
    assert (len(rows), told) == (10, {("failed", None, "aborted")})


def test_what_is_not_answered_before_the_end_is_aborted_all_the_same() -> None:
    records, client = Records(PLAN, "p-0", "u1"), Client()
    sends: Any = Sends(records, client, flushes=9)
    coordinator = Coordinator(sends, records, lambda: True)
    coordinator.begin()
    sends.send(1, coordinator.ordinal)
    assert coordinator.abort(coordinator.answered) == "aborted"
    assert sends.flushes == 8
    assert [name for name, *_ in client.calls] == ["begin", "abort"]


def test_no_transaction_is_begun_after_the_order_to_stop_however_many_sends_are_due() -> None:
    records, client = Records(PLAN, "p-0", "u1"), Client()
    sends: Any = Sends(records, client)
    sender = TransactionalSender(
        sends,
        records,
        Transactions(10, 0),
        "seed",
        given_up=lambda: False,
        told_to_stop=lambda: "commit" in {name for name, *_ in client.calls},
    )
    sender.send(500)
    assert records.attempted == 10
    assert [name for name, *_ in client.calls] == ["begin", "commit"]
