"""What a client that cannot go on looks like (seen in a run)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, Message
from tests.unit.traffic.plans import document

from krt_contract.outcomes import SendOutcome
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
