"""A port that a test was given is not taken from it before its server listens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.ports import ephemeral_ports, free_port

MANY = 200


def test_no_connection_that_goes_out_can_have_it() -> None:
    assert not {free_port() for _ in range(MANY)} & set(ephemeral_ports())


def test_no_other_process_gets_it() -> None:
    claim = f"from tests.ports import free_port; print(*[free_port() for _ in range({MANY})])"
    claim += "; input()"  # a process keeps its ports while it lives
    root = Path(__file__).parents[2]
    others = [
        subprocess.Popen(
            [sys.executable, "-c", claim],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        for _ in range(3)
    ]
    got = [free_port() for _ in range(MANY)]
    for process in others:
        assert process.stdout is not None
        got += [int(port) for port in process.stdout.readline().split()]
    for process in others:
        process.communicate("\n")
    assert len(got) == len(set(got)) == MANY * (len(others) + 1)
