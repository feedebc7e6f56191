from __future__ import annotations

from confluent_kafka import Message

from krt_contract.clients import Acks, ProducerSpec, Transactions
from krt_contract.outcomes import SendOutcome, TransactionOutcome
from krt_traffic.consumer.derived_records import DerivedRecords
from krt_traffic.sending.records import Done, Sent

PLAN = ProducerSpec(
    name="make", topic="out", partitions=2, acks=Acks.ALL, idempotent=True,
    transactions=Transactions(10, 0), records_per_second=0, value_bytes=200, key_count=1,
    compression="none", config={},
)  # fmt: skip


def test_add_of_an_input_gives_its_output_the_key_and_a_partition_of_it() -> None:
    records = DerivedRecords(PLAN, "make-0", "u1")
    seq = records.add(Message(topic="foo", partition=0, offset=5, key=b"k", value=b"x"), 3)
    assert (seq, records.next_routes(1)) == (0, [("k", 1)])
    records.attempted = 1
    records.done(
        Done(0, Sent(1, 1, 0), 2, 2, 7, SendOutcome.ACKED, None, TransactionOutcome.COMMITTED)
    )
    row = records.snapshot()[0].to_pylist()[0]
    columns = ("topic", "partition", "key", "scheduled_at", "transaction_outcome")
    assert [row[name] for name in columns] == ["out", 1, "k", 1, "committed"]
    assert not records.snapshot()[0].to_pylist()


def test_acked_output_has_the_columns_of_a_reported_one() -> None:
    reported, acked = DerivedRecords(PLAN, "make-0", "u1"), DerivedRecords(PLAN, "make-0", "u1")
    sent = Sent(1, 1, None)
    for records in (reported, acked):
        records.add(Message(topic="foo", partition=0, offset=5, key=b"k", value=b"x"), 3)
        records.attempted = 1
        records.in_flight[0] = sent
    reported.report(Done(0, sent, 2, 2, 7, SendOutcome.ACKED, None))
    acked.acked(0, sent, 2, 2, 7)
    found = acked.snapshot()[0]
    assert found.equals(reported.snapshot()[0])
    assert found["key"].to_pylist() == ["k"]


def test_snapshot_of_a_send_that_lingers_in_flight_after_its_row_was_taken_leaves_it_out() -> None:
    records = DerivedRecords(PLAN, "make-0", "u1")
    records.add(Message(topic="foo", partition=0, offset=5, key=b"k", value=b"x"), 1)
    records.attempted = 1
    sent = Sent(1, 1, 0)
    records.done(Done(0, sent, 2, 2, 7, SendOutcome.ACKED, None, TransactionOutcome.COMMITTED))
    # The thread that moves it is interrupted before it takes it out.
    records.in_flight[0] = sent
    assert [table.num_rows for table in records.snapshot()] == [1, 0]
    assert [table.num_rows for table in records.snapshot()] == [0, 0]
    assert records.unacknowledged == set()


def test_partitions_are_all_of_the_output_topic() -> None:
    assert DerivedRecords(PLAN, "make-0", "u1").partitions == [0, 1]
