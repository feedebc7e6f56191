"""A port that a test was given is not taken from it before its server listens."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests import ports

if TYPE_CHECKING:
    import pytest

MANY = 200


def test_no_connection_that_goes_out_can_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ephemeral = range(12_000, 61_000)
    monkeypatch.setattr(ports, "ephemeral_ports", lambda: ephemeral)
    assert not {ports.free_port() for _ in range(MANY)} & set(ephemeral)


def test_where_connections_may_have_any_port_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "ephemeral_ports", lambda: range(1024, 65_536))
    assert ports.free_port() >= ports.LOWEST


def test_ephemeral_ports_are_those_of_the_kernel() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert server.getsockname()[1] in ports.ephemeral_ports()


def test_no_other_process_gets_it() -> None:
    reserve = f"from tests.ports import free_port; print(*[free_port() for _ in range({MANY})])"
    reserve += "; input()"  # a process keeps its ports while it lives
    root = Path(__file__).parents[2]
    others = [
        subprocess.Popen(
            [sys.executable, "-c", reserve],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        for _ in range(3)
    ]
    got = [ports.free_port() for _ in range(MANY)]
    for process in others:
        assert process.stdout is not None
        got += [int(port) for port in process.stdout.readline().split()]
    for process in others:
        process.communicate("\n")
    assert len(got) == len(set(got)) == MANY * (len(others) + 1)
