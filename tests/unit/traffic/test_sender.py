"""What a client that cannot go on looks like (seen in a run)."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NoReturn, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, Message
from tests.unit.traffic.plans import document

from krt_contract.outcomes import SendOutcome
from krt_contract.payload import decode
from krt_traffic.errors import FatalClientError
from krt_traffic.plan import load
from krt_traffic.sending.records import Records, Sent
from krt_traffic.sending.sender import Sender

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from confluent_kafka import Producer


class RaisingClient:
    """A client whose calls raise an error of the broker, fatal or not."""

    def __init__(self, *, fatal: bool) -> None:
        self._fatal = fatal

    def poll(self, _: float) -> NoReturn:
        raise KafkaException(
            KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "desynchronised", self._fatal)
        )

    flush = poll


class PurgedClient(RaisingClient):
    """A client that is over: its first flush raises, the second reports what was purged."""

    def __init__(self, report: Callable[[KafkaError], None]) -> None:
        super().__init__(fatal=True)
        self._report, self._flushes = report, 0

    def purge(self) -> None:
        return

    def flush(self, seconds: float) -> None:  # type: ignore[override]
        self._flushes += 1
        if self._flushes == 1:
            self.poll(seconds)
        self._report(KafkaError(KafkaError._PURGE_QUEUE))  # noqa: SLF001 - no public name


@pytest.fixture
def records(tmp_path: Path) -> Records:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document()))
    return Records(load(path).producer("main"), "main-0", "u1")


@pytest.fixture
def sender(tmp_path: Path, records: Records) -> Sender:
    plan = load(tmp_path / "plan.json")
    return Sender(plan, plan.producer("main"), records, "main-0", "u1")


@pytest.mark.parametrize("call", ["serve", "flush"])
def test_call_raising_a_fatal_error_ends_the_incarnation(sender: Sender, call: str) -> None:
    sender.client = cast("Producer", RaisingClient(fatal=True))
    with pytest.raises(FatalClientError, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        getattr(sender, call)(0)
    assert sender.fatal is not None


def test_call_raising_another_error_is_a_defect(sender: Sender) -> None:
    sender.client = cast("Producer", RaisingClient(fatal=False))
    with pytest.raises(KafkaException):
        sender.serve(0)


class AnsweringClient:
    """A client that acknowledges what it was given when it is polled."""

    def __init__(self) -> None:
        self.given: list[tuple[bytes, str | None, int, Callable[..., None]]] = []

    def produce(
        self, _: str, value: bytes, key: str | None, partition: int, on_delivery: Any
    ) -> None:
        self.given.append((value, key, partition, on_delivery))

    def poll(self, _: float) -> None:
        for offset, (value, _key, partition, on_delivery) in enumerate(self.given):
            on_delivery(None, Message(topic="foo", partition=partition, offset=offset, value=value))
        self.given.clear()


def test_send_gives_each_record_its_value_key_and_partition(
    sender: Sender, records: Records
) -> None:
    client = AnsweringClient()
    sender.client = cast("Producer", client)
    routes = records.next_routes(7)
    sender.send(7)
    given = [(decode(value), key, partition) for value, key, partition, _ in client.given]
    assert [payload and payload.seq for payload, _, _ in given] == list(range(7))
    assert [(key, partition) for _, key, partition in given] == routes
    assert records.attempted == len(records.in_flight) == 7
    sender.serve(0)
    assert not records.in_flight
    assert sender.positions == {"foo-0": 5, "foo-1": 6, "foo-2": 2}


def test_reports_of_one_poll_have_the_time_of_the_first(
    sender: Sender, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(10**12, 2 * 10**12, 5_000_000))
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(clock))
    sender.client = cast("Producer", AnsweringClient())
    times = []
    for _ in range(2):
        sender.send(3)
        sender.serve(0)
        times.append({row["done_mono"] for row in records.snapshot()[0].to_pylist()})
    (first,), (second,) = times
    assert first < second


def test_reports_outside_a_poll_have_their_own_time(
    sender: Sender, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(10**12, 2 * 10**12, 5_000_000))
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(clock))
    client = AnsweringClient()
    sender.client = cast("Producer", client)
    sender.send(1)
    sender.serve(0)
    sender.send(3)
    client.poll(0)  # as flush and the end of a transaction call them
    rows = records.snapshot()[0].to_pylist()
    assert len({row["done_mono"] for row in rows}) == len(rows) == 4


@pytest.mark.parametrize("step", [-3_600_000_000, 50_000])
def test_clock_set_while_a_record_is_in_flight_shows_in_its_row(
    sender: Sender, records: Records, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    mono, ahead = 10**12, 10**15
    monkeypatch.setattr(time, "monotonic_ns", lambda: mono)
    monkeypatch.setattr(time, "time_ns", lambda: mono + ahead)
    sender.client = cast("Producer", AnsweringClient())
    sender.send(1)
    sender.serve(0)
    mono += 5_000_000
    sender.send(1)
    ahead += step * 1000
    mono += 5_000_000
    sender.serve(0)
    rows = records.snapshot()[0].to_pylist()
    # The clock guard takes the largest of these (krt_scoring.history.aggregation).
    assert [
        row["done_at"] - row["sent_at"] - (row["done_mono"] - row["sent_mono"]) for row in rows
    ] == [0, step]


def test_purge_of_a_client_that_is_over_settles_every_send(
    sender: Sender, records: Records
) -> None:
    def report(error: KafkaError) -> None:
        sender._delivered(0, error, Message())  # noqa: SLF001 - what the client would call

    records.in_flight[0] = Sent(1, 1, None)
    sender.client = cast("Producer", PurgedClient(report))
    sender.purge()
    assert not records.in_flight
    assert records.snapshot()[0].to_pylist()[0]["outcome"] == SendOutcome.UNKNOWN
