from __future__ import annotations

from confluent_kafka import Message

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome
from krt_traffic.consumer.event_buffer import EventBuffer


def record(offset: int) -> Message:
    return Message(topic="foo", partition=0, offset=offset, key=b"k", value=b"x")


def test_events_are_numbered_and_returned_once() -> None:
    buffer = EventBuffer("read-0", "u1", "g", processes_at_once=True)
    buffer.event(ConsumerEvent.ASSIGNED, "foo", 0, 5, member_id="m")
    buffer.event(ConsumerEvent.CLOSED)
    events = buffer.events().to_pylist()
    assert [(row["event_seq"], row["event"], row["offset"]) for row in events] == [
        (0, "assigned", 5),
        (1, "closed", None),
    ]
    assert buffer.events().num_rows == 0
    assert [table.num_rows for table in buffer.deliveries()] == [0, 0]


def test_delivery_in_a_transaction_is_unknown_until_it_is_resolved() -> None:
    buffer = EventBuffer("make-0", "u1", "g", processes_at_once=True)
    buffer.deliver(record(5), 0)
    buffer.deliver(record(6), 1, transaction=3, output_seq=8)
    settled, unsettled = buffer.deliveries()
    assert settled["outcome"].to_pylist() == ["ok"]
    assert settled["transaction"].to_pylist() == [None]
    columns = ("offset", "outcome", "transaction", "output_seq", "event_seq")
    assert [unsettled[name].to_pylist() for name in columns] == [[6], ["unknown"], [3], [8], [1]]
    buffer.resolve(DeliveryOutcome.FAILED)
    settled, unsettled = buffer.deliveries()
    assert [settled[name].to_pylist() for name in columns] == [[6], ["failed"], [3], [8], [1]]
    assert unsettled.num_rows == 0
