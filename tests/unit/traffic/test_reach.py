"""Brokers that advertise an address which pods of the test do not reach."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.ports import free_port

from krt_traffic import reach
from krt_traffic.errors import UnusableError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def advertise(monkeypatch: pytest.MonkeyPatch, brokers: dict[int, tuple[str, int]]) -> None:
    """Let the bootstrap servers name these addresses, whatever is asked."""
    found = {
        number: SimpleNamespace(host=host, port=port) for number, (host, port) in brokers.items()
    }

    def client(_settings: dict[str, Any], **_: Any) -> Any:
        return SimpleNamespace(list_topics=lambda **_: SimpleNamespace(brokers=found))

    monkeypatch.setattr(reach, "AdminClient", client)


def test_check_reach_of_brokers_that_accept_connections_passes(
    monkeypatch: pytest.MonkeyPatch, listening: int
) -> None:
    advertise(monkeypatch, {0: ("127.0.0.1", listening), 1: ("localhost", listening)})
    reach.check_reach("kafka:9092")


def test_check_reach_names_each_broker_that_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch, listening: int
) -> None:
    closed = free_port()
    advertise(
        monkeypatch,
        {
            0: ("127.0.0.1", listening),
            1: ("127.0.0.1", closed),
            2: ("broker-2.no-such-domain.invalid", 9092),
        },
    )
    with pytest.raises(UnusableError) as caught:
        reach.check_reach("kafka:9092")
    message = str(caught.value)
    assert f"broker 1 at 127.0.0.1:{closed} (Connection refused)" in message
    assert "broker 2 at broker-2.no-such-domain.invalid:9092" in message
    assert "broker 0" not in message
    assert "advertised.listeners" in message
    assert caught.value.field == "spec.kafkaRef.bootstrapServers"
