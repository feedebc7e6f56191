"""The members' wrapper, run for real: what it says, when it stays, what it exits with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Start = Callable[..., subprocess.Popen[str]]

SCRIPT = files("krt_operator") / "templates" / "scripts" / "member.sh"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    found = tmp_path / "run"
    found.mkdir()
    return found


@pytest.fixture
def start(tmp_path: Path, run: Path) -> Iterator[Start]:
    script = tmp_path / "member.sh"
    script.write_text(SCRIPT.read_text().replace("run=/run/krt", f"run={run}"))
    started: list[subprocess.Popen[str]] = []

    def _start(*command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ["bash", str(script), *command],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "KRT_MEMBER": "kafka-0"},
        )
        started.append(process)
        return process

    yield _start
    for process in started:
        process.kill()
        process.wait()


def _next(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def test_wrapper_logs_start_and_end_and_keeps_the_exit_code(start: Start) -> None:
    process = start("bash", "-c", "exit 7")
    begun, ended = _next(process), _next(process)
    assert (begun["event"], begun["member"], begun["krt"]) == ("started", "kafka-0", "member")
    assert (ended["event"], ended["exitCode"]) == ("exited", 7)
    assert begun["pid"] == ended["pid"]
    assert 1_600_000_000_000_000 < begun["at"] <= ended["at"]
    assert process.wait(10) == 7


def test_wrapper_on_sigterm_forwards_it_and_waits(start: Start) -> None:
    process = start("bash", "-c", 'trap "exit 5" TERM; echo {}; while :; do sleep 0.05; done')
    _next(process)
    _next(process)
    process.terminate()
    assert (_next(process)["exitCode"], process.wait(10)) == (5, 5)


def test_wrapper_with_killed_process_exits_137(start: Start) -> None:
    process = start("sleep", "60")
    os.kill(_next(process)["pid"], signal.SIGKILL)
    assert _next(process)["exitCode"] == 137
    assert process.wait(10) == 137


def test_wrapper_with_hold_file_waits_until_it_is_released(start: Start, run: Path) -> None:
    process = start("sleep", "60")
    pid = _next(process)["pid"]
    (run / "hold").touch()
    os.kill(pid, signal.SIGKILL)
    assert [_next(process)["event"] for _ in range(2)] == ["exited", "held-down"]
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    (run / "hold").unlink()
    assert _next(process)["event"] == "released"
    assert process.wait(10) == 137


def test_wrapper_stopped_while_held_ends(start: Start, run: Path) -> None:
    process = start("sleep", "60")
    pid = _next(process)["pid"]
    (run / "hold").touch()
    os.kill(pid, signal.SIGKILL)
    assert [_next(process)["event"] for _ in range(2)] == ["exited", "held-down"]
    process.terminate()
    assert process.wait(10) == 137


def test_wrapper_restarted_while_held_starts_nothing(start: Start, run: Path) -> None:
    (run / "hold").touch()
    process = start("sleep", "60")
    assert _next(process)["event"] == "held-down"
    (run / "hold").unlink()
    assert [_next(process)["event"] for _ in range(2)] == ["released", "started"]
