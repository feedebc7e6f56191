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
    text = SCRIPT.read_text().replace("run=/run/krt", f"run={run}")
    text = text.replace("/data/user-written", str(tmp_path / "user-written"))
    script.write_text(text.replace("/dev/termination-log", str(run / "termination-log")))
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


FAKE_TOOL = """#!/usr/bin/env bash
printf '%s\\n' "$*" >>"{folder}/arguments"
read_arguments() {{ # as java reads the file that an argument names
  local each
  for each; do
    if [[ $each == @* ]]; then tr -d '"' <"${{each#@}}"; else printf '%s\\n' "$each"; fi
  done
}}
mapfile -t called < <(read_arguments "$@")
printf '%s\\n' "${{called[*]}}" >>"{folder}/calls"
if [[ -n "{error}" ]]; then
  printf '%s\\n' "{error}" >&2
  exit 1
fi
mkdir -p "{folder}/data" && : >"{folder}/data/meta.properties"
echo "Bootstrap metadata: BootstrapMetadata(records=[UserScramCredentialRecord(storedKey=[1, 2])])"
echo "Formatting {folder}/data"
"""


@pytest.fixture
def kraft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a member of KRaft mode, with a double of the tool that formats; returns its calls."""

    def _kraft(error: str = "") -> Path:
        tool = tmp_path / "bin" / "java"
        tool.parent.mkdir()
        tool.write_text(FAKE_TOOL.format(folder=tmp_path, error=error))
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("KRT_CLUSTER_ID", "AAAAAAAAAAAAAAAAAAAAAQ")
        monkeypatch.setenv("KRT_FORMAT_FILE", "/krt/config/server.properties")
        monkeypatch.setenv("KRT_LOG_DIRECTORY", str(tmp_path / "data"))
        return tmp_path / "calls"

    return _kraft


@pytest.fixture
def scram(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives the member a user to write, with the password ``distinctive``."""
    (tmp_path / "password").write_text("distinctive")
    monkeypatch.setenv("KRT_SCRAM_MECHANISM", "SCRAM-SHA-512")
    monkeypatch.setenv("KRT_SCRAM_USER", "krt-client")
    monkeypatch.setenv("KRT_SCRAM_PASSWORD_FILE", str(tmp_path / "password"))


@pytest.fixture
def by_zookeeper(scram: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes the member of ``kraft`` one of ZooKeeper mode."""
    del scram

    def _by_zookeeper() -> None:
        monkeypatch.delenv("KRT_CLUSTER_ID")
        monkeypatch.setenv("KRT_ZOOKEEPER", "zk-0:2181,zk-1:2181")
        monkeypatch.setenv("KRT_ZOOKEEPER_TLS_FILE", "/krt/config/server.properties")

    return _by_zookeeper


def test_wrapper_of_kraft_member_formats_its_folder_before_the_first_start(
    start: Start, kraft: Callable[..., Path]
) -> None:
    calls = kraft()
    for _ in range(2):
        process = start("bash", "-c", "exit 7")
        assert process.wait(10) == 7
    (called,) = calls.read_text().splitlines()
    assert called.endswith(
        "kafka.tools.StorageTool format --ignore-formatted --cluster-id AAAAAAAAAAAAAAAAAAAAAQ "
        "--config /krt/config/server.properties"
    )


@pytest.mark.usefixtures("scram")
def test_wrapper_of_secured_controller_writes_its_user_and_shows_no_secret(
    start: Start, tmp_path: Path, kraft: Callable[..., Path]
) -> None:
    calls = kraft()
    output, _ = start("bash", "-c", "exit 7").communicate(timeout=10)
    assert calls.read_text().endswith(
        " --add-scram SCRAM-SHA-512=[name=krt-client,password=distinctive]\n"
    )
    assert "distinctive" not in (tmp_path / "arguments").read_text()
    assert "Formatting" in output
    assert "storedKey" not in output


def test_wrapper_of_secured_broker_writes_its_user_into_zookeeper_once(
    start: Start, tmp_path: Path, kraft: Callable[..., Path], by_zookeeper: Callable[[], None]
) -> None:
    calls = kraft()
    by_zookeeper()
    for _ in range(2):
        assert start("bash", "-c", "exit 7").wait(10) == 7
    (called,) = calls.read_text().splitlines()
    assert called.endswith(
        "kafka.admin.ConfigCommand --zookeeper zk-0:2181,zk-1:2181 --zk-tls-config-file "
        "/krt/config/server.properties --alter --entity-type users --entity-name krt-client "
        "--add-config SCRAM-SHA-512=[password=distinctive]"
    )
    assert "distinctive" not in (tmp_path / "arguments").read_text()


def test_wrapper_of_secured_broker_that_cannot_write_its_user_tries_again_when_started_again(
    start: Start, run: Path, kraft: Callable[..., Path], by_zookeeper: Callable[[], None]
) -> None:
    calls = kraft("no quorum")
    by_zookeeper()
    for _ in range(2):
        assert start("bash", "-c", "exit 7").wait(10) == 1
    assert len(calls.read_text().splitlines()) == 2
    assert json.loads((run / "termination-log").read_text())["error"] == "no quorum"


@pytest.mark.parametrize(
    ("printed", "error"),
    [
        ("Cluster ID string x does not appear to be a valid UUID", "Cluster ID string x"),
        (
            'Exception in thread \\"main\\" org.apache.kafka.ConfigException: no voter',
            "org.apache.kafka.ConfigException: no voter",
        ),
    ],
)
def test_wrapper_of_kraft_member_that_cannot_be_formatted_says_why(
    start: Start, run: Path, kraft: Callable[..., Path], printed: str, error: str
) -> None:
    kraft(printed)
    assert start("bash", "-c", "exit 7").wait(10) == 1
    message = json.loads((run / "termination-log").read_text())
    assert message["failures"] == 1
    assert message["error"].startswith(error)


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


FAILED = """\
[2026-11-25 02:33:51,005] ERROR Invalid config, exiting abnormally (o.a.QuorumPeerMain)
org.apache.zookeeper.server.quorum.QuorumPeerConfig$ConfigException: Error processing "zoo.cfg"
\tat org.apache.zookeeper.server.quorum.QuorumPeerConfig.parse(QuorumPeerConfig.java:198)
Caused by: java.lang.NumberFormatException: For input string: "many\\\\"
\t... 2 more
[2026-11-25 02:33:51,015] ERROR Exiting JVM with code 2 (org.apache.zookeeper.util.ServiceUtils)
"""
"""What ZooKeeper 3.8 logs as errors for `tickTime=many`."""


def java(run: Path, errors: str, code: int = 1) -> tuple[str, ...]:
    """A process that logs errors as log4j is told to, and ends."""
    (run / "to-log").write_text(errors)
    return ("bash", "-c", f"cp {run}/to-log {run}/errors.log; exit {code}")


def test_wrapper_after_failed_starts_reports_the_innermost_exception_and_counts(
    start: Start, run: Path
) -> None:
    for number in (1, 2, 3):
        assert start(*java(run, FAILED, 2)).wait(10) == 2
        message = json.loads((run / "termination-log").read_text())
        assert message == {
            "krt": "member",
            "failures": number,
            "error": 'java.lang.NumberFormatException: For input string: "many\\\\"',
        }
    assert start(*java(run, "[2026-11-25 02:33:51,005] ERROR Port in use (k.S)\n")).wait(10) == 1
    message = json.loads((run / "termination-log").read_text())
    assert (message["failures"], message["error"]) == (1, "Port in use (k.S)")


FAILED_IN_KRAFT = """\
[2026-11-25 17:49:19,504] ERROR Some warning of a plugin (o.P)
a.b.EarlierException: not why
[2026-11-25 17:49:19,704] ERROR [BrokerServer id=0] Fatal error during broker startup. (k.s.B)
org.apache.kafka.common.KafkaException: Class no.such.Reporter cannot be found
\tat org.apache.kafka.common.utils.Utils.loadClass(Utils.java:1)
Caused by: java.lang.ClassNotFoundException: no.such.Reporter
\t... 7 more
[2026-11-25 17:49:19,726] ERROR [BrokerServer id=0] Fatal error during broker shutdown. (k.s.B)
Caused by: org.apache.kafka.server.fault.FaultHandlerException: Attempted to remove publisher
[2026-11-25 17:49:19,730] ERROR Exiting Kafka due to fatal exception during startup. (kafka.Kafka$)
Caused by: org.apache.kafka.server.fault.FaultHandlerException: Attempted to remove publisher
"""
"""What Kafka 4.4 logs as errors for `metric.reporters=no.such.Reporter`, shortened."""


def test_wrapper_of_kraft_member_reports_what_failed_and_not_what_followed(
    start: Start, run: Path
) -> None:
    assert start(*java(run, FAILED_IN_KRAFT)).wait(10) == 1
    message = json.loads((run / "termination-log").read_text())
    assert message["error"] == "java.lang.ClassNotFoundException: no.such.Reporter"


def test_wrapper_with_long_binary_error_writes_json_that_kubernetes_keeps(
    start: Start, run: Path
) -> None:
    error = "a.B: " + '"\\\u00e9\t' * 2000
    assert start(*java(run, error + "\n")).wait(10) == 1
    text = (run / "termination-log").read_text()
    assert len(text.encode()) <= 4096
    assert json.loads(text)["error"].startswith('a.B: "\\')


@pytest.mark.parametrize(
    ("errors", "code"),
    [("", 1), (FAILED, 0), (FAILED, 137)],
    ids=["nothing logged", "ended well", "killed"],
)
def test_wrapper_without_failed_start_leaves_the_message_to_kubernetes(
    start: Start, run: Path, errors: str, code: int
) -> None:
    assert start(*java(run, errors, code)).wait(10) == code
    assert not (run / "termination-log").exists()


def test_wrapper_on_start_forgets_errors_of_the_previous_one(start: Start, run: Path) -> None:
    (run / "errors.log").write_text(FAILED)
    assert start("bash", "-c", "exit 1").wait(10) == 1
    assert not (run / "termination-log").exists()
