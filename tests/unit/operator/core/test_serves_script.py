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


@pytest.fixture
def serve() -> Iterator[Callable[[bytes], tuple[int, list[bytes]]]]:
    """Serves one connection: the port, and what was asked."""
    listeners: list[socket.socket] = []

    def _serve(said: bytes) -> tuple[int, list[bytes]]:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        asked: list[bytes] = []

        def once() -> None:
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(64))
                connection.sendall(said)

        threading.Thread(target=once, daemon=True).start()
        return listener.getsockname()[1], asked

    yield _serve
    for listener in listeners:
        listener.close()


def probe(port: int) -> int:
    return subprocess.run(
        ["bash", str(SCRIPT), str(port)], capture_output=True, timeout=20, check=False
    ).returncode


@pytest.mark.parametrize(
    ("said", "serves"),
    [
        pytest.param(answer(3), True, id="it knows three brokers"),
        pytest.param(answer(256), True, id="in another byte"),
        pytest.param(answer(0), False, id="nobody has told it anything"),
        pytest.param(answer(3)[:9], False, id="cut off"),
        pytest.param(b"", False, id="it hung up"),
    ],
)
def test_serves_script_succeeds_once_brokers_are_known(
    serve: Callable[[bytes], tuple[int, list[bytes]]], said: bytes, *, serves: bool
) -> None:
    port, asked = serve(said)
    assert (probe(port) == 0) is serves
    assert asked == [REQUEST]


def test_serves_script_without_listener_fails() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert probe(port) != 0
