"""signal.sh on real processes, with its paths moved to the test's folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from krt_operator.build.render import script

if TYPE_CHECKING:
    from collections.abc import Iterator

if not Path("/proc/self/status").exists():
    pytest.skip("the script reads Linux's /proc", allow_module_level=True)


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    code = "import time\nprint(1, flush=True)\ntime.sleep(60)"
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child
        child.kill()


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with started() as child:
        yield child


def send(
    folder: Path, pid: int, *arguments: str, others: tuple[int, ...] = (), **env: str
) -> tuple[int, str]:
    """Run the script seeing this process and the others only."""
    moved = (
        script("signal.sh")
        .replace("/dev/termination-log", str(folder / "report"))
        .replace("run=/run/krt", f"run={folder}")
        .replace("/proc/[0-9]*", " ".join(f"/proc/{each}" for each in (pid, *others)))
    )
    done = subprocess.run(
        ["bash", "-c", moved, "signal.sh", *arguments],
        check=False,
        timeout=30,
        env=os.environ | env,
    )
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


@pytest.mark.parametrize(("signal_", "mode"), [("STOP", ""), ("KILL", "hold")])
def test_signal_that_comes_too_late_is_not_sent(
    tmp_path: Path, process: subprocess.Popen[bytes], signal_: str, mode: str
) -> None:
    late = str(time.time_ns() // 1000 - 1)
    arguments = [signal_, "python", *([mode] if mode else [])]
    code, message = send(tmp_path, process.pid, *arguments, KRT_NOT_AFTER=late)
    assert (code, process.poll()) == (4, None)
    assert "after the fault had been given up" in message
    assert "State:\tT" not in Path(f"/proc/{process.pid}/status").read_text()
    assert not (tmp_path / "hold").exists()


def test_signal_in_time_is_sent_and_a_thaw_is_never_too_late(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    limit = str(time.time_ns() // 1000 + 30_000_000)
    assert send(tmp_path, process.pid, "STOP", "python", KRT_NOT_AFTER=limit)[0] == 0
    assert send(tmp_path, process.pid, "CONT", "python", KRT_NOT_AFTER="1")[0] == 0


def test_signal_no_such_process_is_reported(tmp_path: Path) -> None:
    code, message = send(tmp_path, os.getpid(), "KILL", "no-such-command")
    assert (code, message.strip()) == (3, "no process no-such-command to signal")


def test_signal_with_an_argument_hits_the_process_that_has_it_and_no_other(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    named = {"KRT_ARGUMENT": "kafka.Kafka"}
    with started("kafka.Kafka", "server.properties") as kafka:
        code, message = send(tmp_path, process.pid, "KILL", "python", others=(kafka.pid,), **named)
        assert (code, json.loads(message)["pid"]) == (0, kafka.pid)
        assert kafka.wait(5) == -signal.SIGKILL
    assert process.poll() is None


def test_signal_with_an_argument_that_is_a_part_of_another_one_finds_nothing(
    tmp_path: Path,
) -> None:
    with started("-Dmain=kafka.Kafka") as other:
        code, message = send(tmp_path, other.pid, "KILL", "python", KRT_ARGUMENT="kafka.Kafka")
        assert (code, other.poll()) == (3, None)
    assert message.strip() == "no process python with argument kafka.Kafka to signal"


def test_signal_with_an_argument_that_two_have_hits_neither(tmp_path: Path) -> None:
    with started("kafka.Kafka") as one, started("kafka.Kafka") as two:
        code, message = send(
            tmp_path, one.pid, "KILL", "python", others=(two.pid,), KRT_ARGUMENT="kafka.Kafka"
        )
        assert (code, one.poll(), two.poll()) == (3, None, None)
    expected = f"several processes python with argument kafka.Kafka: {one.pid} {two.pid}"
    assert message.strip() == expected


def test_signal_kill_is_reported_where_the_script_ends_with_the_process(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    # Process 1 of a container ends with its child, and the kernel kills what else is in it.
    dying = script("signal.sh").replace('kill -s "$signal" "$pid"', "kill -s KILL $$")
    moved = dying.replace("/dev/termination-log", str(tmp_path / "report"))
    moved = moved.replace("/proc/[0-9]*", f"/proc/{process.pid}")
    command = ["bash", "-c", moved, "signal.sh", "KILL", "python"]
    assert subprocess.run(command, check=False, timeout=30).returncode == -signal.SIGKILL
    report = json.loads((tmp_path / "report").read_text())
    assert (report["event"], report["pid"]) == ("killed", process.pid)


def test_signal_that_is_refused_is_reported_with_both_users(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    refused = script("signal.sh").replace('kill -s "$signal" "$pid"', "false")
    moved = refused.replace("/dev/termination-log", str(tmp_path / "report"))
    moved = moved.replace("/proc/[0-9]*", f"/proc/{process.pid}")
    command = ["bash", "-c", moved, "signal.sh", "KILL", "python"]
    assert subprocess.run(command, check=False, timeout=30).returncode == 4
    user = os.getuid()
    assert (tmp_path / "report").read_text().strip() == (
        f"signal KILL to process {process.pid} was refused: this script has user {user}, "
        f"the process {user}"
    )


def test_signal_process_1_is_refused_with_what_to_do(tmp_path: Path) -> None:
    # Whatever process 1 of this machine is, one of that name is looked for.
    command = Path("/proc/1/cmdline").read_bytes().split(b"\0")[0].decode().rsplit("/", 1)[-1]
    code, message = send(tmp_path, 1, "STOP", command)
    assert code == 4
    assert "is process 1 of its container" in message
    assert "shareProcessNamespace" in message
