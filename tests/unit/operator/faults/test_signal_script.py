"""signal.sh on real processes, with its paths moved to the test's folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from krt_operator.build.render import script

if not Path("/proc/self/status").exists():
    pytest.skip("the script reads Linux's /proc", allow_module_level=True)


@pytest.fixture
def process() -> object:
    code = "import time\nprint(1, flush=True)\ntime.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child
        child.kill()


def send(folder: Path, pid: int, *arguments: str) -> tuple[int, str]:
    """Run the script seeing this one process only."""
    moved = (
        script("signal.sh")
        .replace("/dev/termination-log", str(folder / "report"))
        .replace("run=/run/krt", f"run={folder}")
        .replace("/proc/[0-9]*", f"/proc/{pid}")
    )
    done = subprocess.run(["bash", "-c", moved, "signal.sh", *arguments], check=False, timeout=30)
    return done.returncode, (folder / "report").read_text()


def test_signal_kill_sends_sigkill_and_reports_the_time(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    before = time.time_ns() // 1000
    code, message = send(tmp_path, process.pid, "KILL", "python", "hold")
    assert code == 0
    assert process.wait(5) == -signal.SIGKILL
    report = json.loads(message)
    assert (report["krt"], report["event"], report["pid"]) == ("member", "killed", process.pid)
    assert before <= report["at"] <= time.time_ns() // 1000
    assert (tmp_path / "hold").exists()


def test_signal_kill_release_removes_the_hold_file(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    assert send(tmp_path, process.pid, "KILL", "python", "release")[0] == 0
    assert not (tmp_path / "hold").exists()


def test_signal_stop_and_continue_report_frozen_and_thawed(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    status = Path(f"/proc/{process.pid}/status")
    code, message = send(tmp_path, process.pid, "STOP", "python")
    assert (code, json.loads(message)["event"]) == (0, "frozen")
    assert "State:\tT" in status.read_text()
    code, message = send(tmp_path, process.pid, "CONT", "python")
    assert (code, json.loads(message)["event"]) == (0, "thawed")
    assert "State:\tT" not in status.read_text()


def test_signal_continue_with_seconds_waits_for_the_stop_first(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    (tmp_path / "thaw").mkdir()
    with ThreadPoolExecutor() as pool:
        thaw = pool.submit(send, tmp_path / "thaw", process.pid, "CONT", "python", "0.5")
        frozen = json.loads(send(tmp_path, process.pid, "STOP", "python")[1])["at"]
        code, message = thaw.result(30)
    thawed = json.loads(message)
    assert (code, thawed["event"]) == (0, "thawed")
    # It looks every 0.05 s, and a busy machine may let it wait longer; never shorter.
    assert thawed["at"] - frozen >= 500_000
    assert "State:\tT" not in Path(f"/proc/{process.pid}/status").read_text()


def test_signal_no_such_process_is_reported(tmp_path: Path) -> None:
    code, message = send(tmp_path, os.getpid(), "KILL", "no-such-command")
    assert (code, message.strip()) == (3, "no process no-such-command to signal")
