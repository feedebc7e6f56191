"""The brokers' startup probe, run for real against answers as a broker gives them."""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCRIPT = files("krt_operator") / "templates" / "scripts" / "serves.sh"
REQUEST = struct.pack(">ihhihi", 14, 3, 1, 0, -1, 0)


def answer(brokers: int) -> bytes:
    """The beginning of a Metadata response, version 1."""
    body = struct.pack(">ii", 0, brokers) + b"\0" * 40
    return struct.pack(">i", len(body)) + body


def listing(*brokers: tuple[int, str, str | None]) -> bytes:
    """A Metadata response, version 1, with the ids, hosts and racks of brokers."""
    body = struct.pack(">ii", 0, len(brokers))
    for number, host, rack in brokers:
        body += struct.pack(">ih", number, len(host)) + host.encode() + struct.pack(">i", 9092)
        body += struct.pack(">h", -1 if rack is None else len(rack)) + (rack or "").encode()
    body += struct.pack(">ii", 1, 0)
    return struct.pack(">i", len(body)) + body


@pytest.fixture
def serve() -> Iterator[Callable[[bytes], tuple[int, list[bytes]]]]:
    """Serves one connection: the port, and what was asked."""
    listeners: list[socket.socket] = []

    def _serve(body: bytes) -> tuple[int, list[bytes]]:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        asked: list[bytes] = []

        def once() -> None:
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(64))
                connection.sendall(body)

        threading.Thread(target=once, daemon=True).start()
        return listener.getsockname()[1], asked

    yield _serve
    for listener in listeners:
        listener.close()


def probe(port: int, *own: str) -> int:
    return subprocess.run(
        ["bash", str(SCRIPT), str(port), *own], capture_output=True, timeout=20, check=False
    ).returncode


@pytest.mark.parametrize(
    ("body", "serves"),
    [
        pytest.param(answer(3), True, id="it knows three brokers"),
        pytest.param(answer(256), True, id="in another byte"),
        pytest.param(answer(0), False, id="nobody has told it anything"),
        pytest.param(answer(3)[:9], False, id="cut off"),
        pytest.param(b"", False, id="it hung up"),
    ],
)
def test_serves_script_succeeds_once_brokers_are_known(
    serve: Callable[[bytes], tuple[int, list[bytes]]], body: bytes, *, serves: bool
) -> None:
    port, asked = serve(body)
    assert (probe(port) == 0) is serves
    assert asked == [REQUEST]


HOST = "leader-crash-kafka-{}.tests.svc"


@pytest.mark.parametrize(
    ("brokers", "serves"),
    [
        pytest.param([0, 1, 2], True, id="all are unfenced"),
        pytest.param([2, 1], True, id="it comes first"),
        pytest.param([0, 258, 2], True, id="it comes last, after a large id"),
        pytest.param([0, 1], False, id="it is fenced"),
        pytest.param([], False, id="all are fenced"),
    ],
)
@pytest.mark.parametrize("rack", [None, "", "zone-a", "z" * 200])
def test_serves_script_with_id_succeeds_once_the_broker_is_listed(
    serve: Callable[[bytes], tuple[int, list[bytes]]],
    brokers: list[int],
    rack: str | None,
    *,
    serves: bool,
) -> None:
    port, _ = serve(listing(*((number, HOST.format(number), rack) for number in brokers)))
    assert (probe(port, "2") == 0) is serves


def test_serves_script_without_listener_fails() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert probe(port) != 0
