from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING

import pytest
from tests.unit.traffic.api_server import Answer, ApiServer
from tests.unit.traffic.timelines import recorded

from krt_contract.sinks import lines
from krt_contract.sinks.lines import FolderLines, append
from krt_traffic.errors import RecordingError
from krt_traffic.evidence import report_in_log
from krt_traffic.kubernetes.client import KubernetesClient
from krt_traffic.recorder import logs
from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.logs import (
    LogFollower,
    last_timestamp,
    later,
    parse_member_line,
    parse_silence,
)
from krt_traffic.recorder.pods import Container
from krt_traffic.recorder.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = b"2026-11-21T04:03:21.1Z first\n", b"2026-11-21T04:03:21.2Z second\n"


class Unavailable(FolderLines):
    """A folder in a store that does not answer until ``available`` is set."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.available = threading.Event()

    def tail(self, name: str, size: int) -> tuple[bytes, bool]:
        assert self.available.wait(10), "whoever made the follower waits for the store"
        return super().tail(name, size)


def follower(
    api: ApiServer,
    folder: Path,
    failures: Failures,
    *,
    gone: bool,
    versions: list[str] | None = None,
) -> LogFollower:
    client = KubernetesClient.from_environment("ns", {"KRT_API": api.url})
    container = Container("t-kafka-0-0", "u1", "kafka", "kafka", ephemeral=False)
    timeline = Timeline(folder / "timeline", "r1")
    version = [] if versions is None else versions
    return LogFollower(
        client,
        container,
        folder,
        timeline,
        lambda _uid: gone,
        version=version.append,
        failures=failures,
    )


@pytest.mark.parametrize(
    ("time", "last", "is_later"),
    [
        ("2026-11-21T04:03:19.12Z", "", True),
        ("2026-11-21T04:03:19.12Z", "2026-11-21T04:03:19.119999999Z", True),
        ("2026-11-21T04:03:19.12Z", "2026-11-21T04:03:19.120000000Z", False),
        ("2026-11-21T04:03:19Z", "2026-11-21T04:03:18.9Z", True),
    ],
)
def test_later_compares_timestamps_of_different_precision(
    time: str, last: str, is_later: bool
) -> None:
    assert later(time, last) is is_later


def test_last_timestamp_of_a_log_is_that_of_its_last_line() -> None:
    assert not last_timestamp(b"", cut=False, container="")
    tail = b"2026-11-21T04:03:19.1Z a\n2026-11-21T04:03:19.2Z [krt-1] b\n"
    assert last_timestamp(tail, cut=False, container="") == "2026-11-21T04:03:19.2Z"
    assert last_timestamp(tail, cut=False, container="krt-1") == "2026-11-21T04:03:19.2Z"


def test_last_timestamp_of_a_tail_that_begins_within_a_line_ignores_its_rest() -> None:
    assert not last_timestamp(b"19.1Z a\n", cut=True, container="")


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ('{"krt":"member","event":"killed","at":5,"member":"kafka-0"}', "killed"),
        ('{"krt":"other","event":"killed","at":5}', None),
        ('{"krt":"member","event":"killed"}', None),
        ('{"krt":', None),
    ],
)
def test_parse_member_line_takes_only_lines_of_the_wrapper(text: str, event: str | None) -> None:
    parsed = parse_member_line(text.encode())
    assert (parsed or {}).get("event") == event


def test_follower_reports_the_version_that_a_member_logs_and_none_that_is_quoted(
    api: ApiServer, tmp_path: Path
) -> None:
    entry = "[2026-11-25 17:33:06,507] INFO %s (org.apache.kafka.common.utils.%sAppInfoParser)"
    texts = (
        entry % ("Kafka version: 3.9.1", ""),
        entry % ("Kafka version: 4.4.0", "internals."),
        entry % ("Kafka commitId: f745dfdcee2b9851", ""),
        "[2026-11-25 17:33:07,001] WARN Kafka version: 1.0 (com.example.Plugin)",
        f"[2026-11-25 17:33:07,002] INFO got {entry % ('Kafka version: 2.0', '')}",
    )
    stamped = (f"2026-11-25T17:33:0{at}Z {text}\n" for at, text in enumerate(texts))
    api.answers.append(Answer("".join(stamped).encode()))
    versions: list[str] = []
    failures = Failures(lambda: None)
    reader = follower(api, tmp_path, failures, gone=True, versions=versions)
    reader.start()
    reader.join()
    failures.check()
    assert versions == ["3.9.1", "4.4.0"]


def test_follower_whose_line_was_refused_asks_for_it_after_a_restart(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes) -> None:
        if data == SECOND:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(descriptor, data)

    api.answers.extend([Answer(FIRST + SECOND)] * 2)
    ended = threading.Event()
    failures = Failures(ended.set)
    with monkeypatch.context() as patch:
        patch.setattr(lines, "append", full)
        follower(api, tmp_path, failures, gone=False).start()
        assert ended.wait(10)
    with pytest.raises(RecordingError, match="No space left on device"):
        failures.check()
    log = tmp_path / "t-kafka-0-0-u1.log"
    assert log.read_bytes() == FIRST
    again = follower(api, tmp_path, Failures(ended.set), gone=True)
    again.start()
    again.join()
    assert api.requests[1].query["sinceTime"] == "2026-11-21T04:03:21.1Z"
    assert log.read_bytes() == FIRST + SECOND


def test_follower_stopped_while_interrupted_records_a_gap_to_the_end(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter(range(1, 1000))
    monkeypatch.setattr(logs, "wall", lambda: next(seconds) * 5_000_000)
    failures = Failures(lambda: None)
    stopping = follower(api, tmp_path, failures, gone=True)
    api.stop()
    stopping.start()
    stopping.join()
    (gap,) = recorded(tmp_path / "timeline")
    assert (gap["event"], gap["detail"]["stream"]) == ("gap", "log t-kafka-0-0")
    assert gap["detail"]["atEnd"] is True


def test_follower_made_while_the_store_is_unavailable_keeps_nobody_waiting(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch of the pods makes it: what it sees later would get a later time."""
    (tmp_path / "t-kafka-0-0-u1.log").write_bytes(FIRST)
    api.answers.append(Answer(FIRST + SECOND))
    failures = Failures(lambda: None)
    store = Unavailable(tmp_path)
    monkeypatch.setattr(logs, "line_folder", lambda _: store)
    tested = follower(api, tmp_path, failures, gone=True)
    tested.start()
    assert not api.requests
    store.available.set()
    tested.join()
    failures.check()
    assert api.requests[0].query["sinceTime"] == "2026-11-21T04:03:21.1Z"
    assert (tmp_path / "t-kafka-0-0-u1.log").read_bytes() == FIRST + SECOND


def test_follower_of_a_pod_whose_store_was_unavailable_records_a_gap(
    api: ApiServer, tmp_path: Path
) -> None:
    line = b'2026-11-21T04:03:21.1Z {"krt":"evidence","member":"p-0","from":1000000,"to":9000000}\n'
    api.answers.append(Answer(line))
    tested = follower(api, tmp_path, Failures(lambda: None), gone=True)
    tested.start()
    tested.join()
    (gap,) = recorded(tmp_path / "timeline")
    assert gap["event"] == "gap"
    assert gap["detail"] == {"from": 1_000_000, "to": 9_000_000, "stream": "evidence"}


def test_parse_silence_takes_only_lines_of_a_pods_ledger(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report_in_log("p-0")(1, 2)
    assert parse_silence(capsys.readouterr().out.encode()) == (1, 2)
    assert parse_silence(b'{"krt":"member","event":"killed","at":5}') is None
    assert parse_silence(b'{"krt":') is None
