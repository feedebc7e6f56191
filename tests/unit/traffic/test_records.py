from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from krt_contract.clients import Acks, ProducerSpec, Transactions
from krt_contract.outcomes import SendOutcome, TransactionOutcome
from krt_traffic.producer.schedule import Schedule
from krt_traffic.sending.records import (
    IN_FLIGHT,
    Done,
    Records,
    Sent,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def entry(**changes: Any) -> ProducerSpec:
    plan: dict[str, Any] = {
        "name": "main",
        "topic": "foo",
        "partitions": 3,
        "acks": Acks.ALL,
        "idempotent": True,
        "transactions": None,
        "records_per_second": 500,
        "value_bytes": 200,
        "key_count": 5,
        "compression": "none",
        "config": {},
    }
    return ProducerSpec(**plan | changes)


def records(**changes: Any) -> Records:
    return Records(entry(**changes), "main-0", "u1")


def sent(transaction: int | None = None) -> Sent:
    return Sent(5_000_000, 2_000, transaction)


def done(seq: int, transaction: int | None = None) -> Done:
    return Done(seq, sent(transaction), 5_000_100, 2_100, 10 + seq, SendOutcome.ACKED, None)


def test_snapshot_has_each_send_in_one_of_its_tables() -> None:
    all_sends = records()
    all_sends.in_flight.update({seq: sent() for seq in range(3)})
    all_sends.report(done(1))
    settled, rest = all_sends.snapshot()
    assert settled["seq"].to_pylist() == [1]
    assert rest["seq"].to_pylist() == [0, 2]
    assert rest["outcome"].unique().to_pylist() == [SendOutcome.UNKNOWN]
    assert rest["error"].unique().to_pylist() == [IN_FLIGHT]


class HalfMoved(Records):
    """The producer's thread stopped between adding to the done and removing from the others."""

    def done(self, record: Done) -> None:
        before = self.in_flight.copy()
        super().done(record)
        self.in_flight.update(before)

    def acked(self, seq: int, sent: Sent, at: int, mono: int, offset: int) -> None:
        before = self.in_flight.copy()
        super().acked(seq, sent, at, mono, offset)
        self.in_flight.update(before)


@pytest.mark.parametrize(
    "move",
    [
        lambda all_sends: all_sends.report(done(0)),
        lambda all_sends: all_sends.acked(0, sent(), 5_000_100, 2_100, 10),
    ],
)
def test_snapshot_during_a_move_has_the_send_once_however_long_it_takes(
    move: Callable[[Records], None],
) -> None:
    all_sends = HalfMoved(entry(), "main-0", "u1")
    all_sends.in_flight[0] = sent()
    move(all_sends)
    settled, rest = all_sends.snapshot()
    assert (settled["seq"].to_pylist(), rest["seq"].to_pylist()) == ([0], [])
    for _ in range(2):
        settled, rest = all_sends.snapshot()
        assert (settled.num_rows, rest.num_rows) == (0, 0)


def test_report_in_an_open_transaction_leaves_the_send_unsettled() -> None:
    all_sends = records(transactions=Transactions(10, 0))
    all_sends.in_flight[0] = sent(4)
    all_sends.report(done(0, 4))
    settled, rest = all_sends.snapshot()
    assert settled.num_rows == 0
    assert rest.to_pylist()[0]["transaction"] == 4
    assert rest.to_pylist()[0]["transaction_outcome"] == "unknown"
    all_sends.done(done(0, 4)._replace(transaction_outcome=TransactionOutcome.COMMITTED))
    settled, rest = all_sends.snapshot()
    assert rest.num_rows == 0
    assert settled.to_pylist()[0]["transaction_outcome"] == "committed"


def test_acked_leaves_what_report_leaves() -> None:
    reported, acked = records(), records()
    for all_sends in (reported, acked):
        all_sends.in_flight.update({0: sent(), 1: sent()})
    reported.report(done(1))
    acked.acked(1, sent(), 5_000_100, 2_100, 11)
    assert acked.waiting_bytes == reported.waiting_bytes > 0
    assert acked.counts == reported.counts
    assert acked.in_flight == reported.in_flight
    assert acked.snapshot()[0].equals(reported.snapshot()[0])
    assert acked.waiting_bytes == 0


def test_acked_rows_have_the_columns_of_reported_ones_whatever_their_number() -> None:
    reported, acked = records(), records()
    for all_sends in (reported, acked):
        all_sends.schedule = Schedule(500, 1_000)
        all_sends.in_flight.update(dict.fromkeys(range(12), sent()))
    for seq in range(12):
        reported.report(done(seq))
        acked.acked(seq, sent(), 5_000_100, 2_100, 10 + seq)
    assert acked.snapshot()[0].equals(reported.snapshot()[0])
    assert acked.latency.read() == reported.latency.read()
    assert acked.unacknowledged == reported.unacknowledged == set()


def test_snapshot_has_acked_rows_and_others_together() -> None:
    all_sends = records()
    all_sends.in_flight.update(dict.fromkeys(range(3), sent()))
    all_sends.acked(0, sent(), 5_000_100, 2_100, 10)
    all_sends.done(done(1)._replace(outcome=SendOutcome.FAILED, offset=None, error="_TIMED_OUT"))
    settled, rest = all_sends.snapshot()
    assert settled.select(["seq", "outcome", "offset"]).to_pylist() == [
        {"seq": 0, "outcome": "acked", "offset": 10},
        {"seq": 1, "outcome": "failed", "offset": None},
    ]
    assert rest["seq"].to_pylist() == [2]
    assert all_sends.unacknowledged == {1, 2}


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_next_routes_are_those_that_rows_get(count: int) -> None:
    all_sends = records()
    found: list[tuple[str | None, int]] = []
    for _ in range(5):
        found += all_sends.next_routes(count)
        all_sends.attempted += count
    keys, partitions = all_sends.routes(pa.array(range(5 * count), pa.int64()))
    assert found == list(zip(keys.to_pylist(), partitions.to_pylist(), strict=True))


def test_partition_of_a_key_is_fixed_and_every_partition_has_keys() -> None:
    partitions_of: dict[str | None, set[int]] = {}
    for key, partition in records().next_routes(100):
        partitions_of.setdefault(key, set()).add(partition)
    assert all(len(partitions) == 1 for partitions in partitions_of.values())
    assert set.union(*partitions_of.values()) == {0, 1, 2}


def test_snapshot_gives_the_scheduled_time_in_the_wall_clock_of_the_send() -> None:
    all_sends = records()
    all_sends.schedule = Schedule(0, 1000)
    all_sends.in_flight[1] = sent()
    all_sends.report(done(1))
    row = all_sends.snapshot()[0].to_pylist()[0]
    assert row["sent_at"] - row["scheduled_at"] == 2_000 - 1_000
