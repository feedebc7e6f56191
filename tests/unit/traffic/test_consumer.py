from __future__ import annotations

import json

import pytest
from confluent_kafka import KafkaError, Message

from krt_contract.clients import Acks, ProducerSpec, Transactions
from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome, SendOutcome, TransactionOutcome
from krt_traffic.consumer.assignment import TRUNCATED_AT
from krt_traffic.consumer.commits import event_of
from krt_traffic.consumer.event_buffer import Journal
from krt_traffic.consumer.fetching import Fetching
from krt_traffic.consumer.outputs import Outputs
from krt_traffic.producer.records import Done, Sent


@pytest.mark.parametrize(
    ("code", "event"),
    [
        (None, "committed"),
        (KafkaError.ILLEGAL_GENERATION, "commit_failed"),
        (KafkaError.REBALANCE_IN_PROGRESS, "commit_failed"),
        (KafkaError.REQUEST_TIMED_OUT, "commit_unknown"),
        (KafkaError._TRANSPORT, "commit_unknown"),  # noqa: SLF001 - no public name
        (KafkaError.NOT_COORDINATOR, "commit_unknown"),
    ],
)
def test_a_commit_is_failed_only_where_the_coordinator_said_so(
    code: int | None, event: str
) -> None:
    assert event_of(code) == event


def test_where_a_log_was_truncated_is_read_from_the_clients_words() -> None:
    reason = (
        "Partition log truncation detected at offset 120 (leader epoch 3): "
        "broker end offset is 100 (offset leader epoch 3). Reset to INVALID."
    )
    found = TRUNCATED_AT.search(reason)
    assert found is not None
    assert found.group(1) == "100"
    assert not TRUNCATED_AT.search("broker end offset is -1 (offset leader epoch -1)")


def test_a_change_of_the_broker_that_is_read_from_is_told_once() -> None:
    journal = Journal("read-0", "u1", "g", processes_at_once=True)
    fetching = Fetching(journal)

    def partition(broker: int, state: str = "active") -> str:
        found = {"partition": 0, "broker": broker, "leader": 1, "fetch_state": state}
        # librdkafka keeps what it knows of no partition under -1.
        internal = {"partition": -1, "broker": -1, "leader": -1, "fetch_state": "none"}
        partitions = {"-1": internal, "0": found}
        return json.dumps({"topics": {"foo": {"topic": "foo", "partitions": partitions}}})

    for text in (partition(1), partition(1), partition(2), partition(3, "stopped"), "{}"):
        fetching.take(text)
    rows = journal.events().to_pylist()
    assert [(row["event"], row["topic"], row["partition"]) for row in rows] == [
        ("fetching", "foo", 0)
    ] * 2
    assert [json.loads(row["detail"])["broker"] for row in rows] == [1, 2]


def test_only_a_client_with_a_rack_is_asked_for_statistics() -> None:
    fetching = Fetching(Journal("read-0", "u1", "g", processes_at_once=True))
    assert fetching.settings({"group.id": "g"}) == {"group.id": "g"}
    assert fetching.settings({"client.rack": "a"})["stats_cb"] == fetching.take


def test_events_are_counted_and_handed_over_once() -> None:
    journal = Journal("read-0", "u1", "g", processes_at_once=True)
    journal.event(ConsumerEvent.ASSIGNED, "foo", 0, 5, member_id="m")
    journal.event(ConsumerEvent.CLOSED)
    events = journal.events().to_pylist()
    assert [(row["event_seq"], row["event"], row["offset"]) for row in events] == [
        (0, "assigned", 5),
        (1, "closed", None),
    ]
    assert journal.events().num_rows == 0
    assert [table.num_rows for table in journal.deliveries()] == [0, 0]


def record(offset: int) -> Message:
    return Message(topic="foo", partition=0, offset=offset, key=b"k", value=b"x")


def test_a_delivery_within_a_transaction_is_unknown_until_it_ended() -> None:
    journal = Journal("make-0", "u1", "g", processes_at_once=True)
    journal.hand(record(5), 0)
    journal.hand(record(6), 1, transaction=3, output_seq=8)
    settled, held = journal.deliveries()
    assert settled["outcome"].to_pylist() == ["ok"]
    assert settled["transaction"].to_pylist() == [None]
    columns = ("offset", "outcome", "transaction", "output_seq", "event_seq")
    assert [held[name].to_pylist() for name in columns] == [[6], ["unknown"], [3], [8], [1]]
    journal.decide(DeliveryOutcome.FAILED)
    settled, held = journal.deliveries()
    assert [settled[name].to_pylist() for name in columns] == [[6], ["failed"], [3], [8], [1]]
    assert held.num_rows == 0


def test_an_output_has_the_key_and_partition_of_its_input() -> None:
    plan = ProducerSpec(
        name="make", topic="out", partitions=2, acks=Acks.ALL, idempotent=True,
        transactions=Transactions(10, 0), records_per_second=0, value_bytes=200, key_count=1,
        compression="none", config={},
    )  # fmt: skip
    outputs = Outputs(plan, "make-0", "u1")
    seq = outputs.add(record(5), 3)
    assert (seq, outputs.key(seq), outputs.partition(seq)) == (0, "k", 1)
    outputs.attempted = 1
    outputs.done(
        Done(0, Sent(1, 1, 0), 2, 2, 7, SendOutcome.ACKED, None, TransactionOutcome.COMMITTED)
    )
    row = outputs.snapshot()[0].to_pylist()[0]
    shown = ("topic", "partition", "key", "scheduled_at", "transaction_outcome")
    assert [row[name] for name in shown] == ["out", 1, "k", 1, "committed"]
    assert not outputs.snapshot()[0].to_pylist()
