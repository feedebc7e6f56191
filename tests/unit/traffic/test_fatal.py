"""What a client that is over, and a truncated log, look like to us (both seen in a run)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from confluent_kafka import KafkaError, KafkaException, Message
from tests.unit.traffic.test_plan import document

from krt_contract.outcomes import SendOutcome
from krt_traffic.consumer.positions import partition_of
from krt_traffic.errors import FatalClientError
from krt_traffic.plan import load
from krt_traffic.producer.records import Records, Sent
from krt_traffic.producer.sender import Sender

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def raising(*, fatal: bool) -> Callable[..., NoReturn]:
    def call(*_: Any) -> NoReturn:
        raise KafkaException(
            KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "desynchronised", fatal)
        )

    return call


@pytest.fixture
def sender(tmp_path: Path) -> Sender:
    import json  # noqa: PLC0415

    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document()))
    plan = load(path)
    entry = plan.producer("main")
    return Sender(plan, entry, Records(entry, "main-0", "u1"), "main-0", "u1")


@pytest.mark.parametrize("call", ["serve", "flush"])
def test_a_fatal_error_raised_by_the_client_ends_the_incarnation(sender: Sender, call: str) -> None:
    sender.client = SimpleNamespace(poll=raising(fatal=True), flush=raising(fatal=True))  # type: ignore[assignment]
    with pytest.raises(FatalClientError, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        getattr(sender, call)(0)
    assert sender.fatal is not None


def test_another_error_raised_by_the_client_is_a_defect(sender: Sender) -> None:
    sender.client = SimpleNamespace(poll=raising(fatal=False))  # type: ignore[assignment]
    with pytest.raises(KafkaException):
        sender.serve(0)


def test_purging_a_client_that_is_over_still_settles_every_send(sender: Sender) -> None:
    calls = 0

    def flush(_: float) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raising(fatal=True)()
        error = KafkaError(KafkaError._PURGE_QUEUE)  # noqa: SLF001 - no public name
        sender._delivered(0, error, Message())  # noqa: SLF001 - what the client would call

    records = sender._records  # noqa: SLF001 - the fixture's own
    records.in_flight[0] = Sent(1, 1, None)
    sender.client = SimpleNamespace(purge=lambda: None, flush=flush)  # type: ignore[assignment]
    sender.purge()
    assert not records.in_flight
    assert records.snapshot()[0].to_pylist()[0]["outcome"] == SendOutcome.UNKNOWN


def test_a_truncation_has_a_partition_but_no_offset() -> None:
    error = KafkaError(KafkaError._AUTO_OFFSET_RESET, "truncated")  # noqa: SLF001 - no public name
    message = Message(topic="foo", partition=2, error=error)
    assert message.offset() is None
    assert partition_of(message) == ("foo", 2)
