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


def test_says_when_it_started_and_ended_and_exits_alike(start: Start) -> None:
    process = start("bash", "-c", "exit 7")
    begun, ended = _next(process), _next(process)
    assert (begun["event"], begun["member"], begun["krt"]) == ("started", "kafka-0", "member")
    assert (ended["event"], ended["exitCode"]) == ("exited", 7)
    assert begun["pid"] == ended["pid"]
    assert 1_600_000_000_000_000 < begun["at"] <= ended["at"]
    assert process.wait(10) == 7


def test_hands_sigterm_on_and_waits_for_the_end(start: Start) -> None:
    process = start("bash", "-c", 'trap "exit 5" TERM; echo {}; while :; do sleep 0.05; done')
    _next(process)
    _next(process)
    process.terminate()
    assert (_next(process)["exitCode"], process.wait(10)) == (5, 5)


def test_a_killed_process_is_told_as_137(start: Start) -> None:
    process = start("sleep", "60")
    os.kill(_next(process)["pid"], signal.SIGKILL)
    assert _next(process)["exitCode"] == 137
    assert process.wait(10) == 137


def test_stays_while_held_and_goes_when_released(start: Start, run: Path) -> None:
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


def test_being_stopped_ends_a_hold(start: Start, run: Path) -> None:
    process = start("sleep", "60")
    pid = _next(process)["pid"]
    (run / "hold").touch()
    os.kill(pid, signal.SIGKILL)
    assert [_next(process)["event"] for _ in range(2)] == ["exited", "held-down"]
    process.terminate()
    assert process.wait(10) == 137


def test_a_restarted_wrapper_does_not_start_what_is_held(start: Start, run: Path) -> None:
    (run / "hold").touch()
    process = start("sleep", "60")
    assert _next(process)["event"] == "held-down"
    (run / "hold").unlink()
    assert [_next(process)["event"] for _ in range(2)] == ["released", "started"]
