from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from krt_traffic.kubernetes.objects import KafkaResilienceTest, Pod
from krt_traffic.recorder.logs import last_timestamp, later, parse_member_line
from krt_traffic.recorder.pods import Container, PodEvents
from krt_traffic.recorder.quorum import (
    SILENT,
    WITHOUT,
    parse_mode,
    verdict,
)
from krt_traffic.recorder.run_json import RunJson
from krt_traffic.recorder.status import StatusEvents
from krt_traffic.recorder.timeline import Timeline, micros

if TYPE_CHECKING:
    from pathlib import Path

T0 = "2026-11-21T04:03:19Z"
T0_MICROS = 1_795_233_799_000_000


def told(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def pod(
    *,
    ready: bool = True,
    state: dict[str, Any] | None = None,
    ephemeral: list[dict[str, Any]] | None = None,
    **metadata: Any,
) -> Pod:
    item = {
        "metadata": {
            "name": "t-kafka-0-0",
            "uid": "u1",
            "creationTimestamp": T0,
            "labels": {
                "kafkaresilience.dev/member": "kafka-0",
                "app.kubernetes.io/component": "kafka",
            },
            **metadata,
        },
        "spec": {"nodeName": "w1"},
        "status": {
            "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": T0},
                {"type": "Ready", "status": str(ready), "lastTransitionTime": T0},
            ],
            "containerStatuses": [
                {
                    "name": "kafka",
                    "containerID": "c1",
                    "imageID": "sha256:1",
                    "state": state or {"running": {"startedAt": T0}},
                }
            ],
            "ephemeralContainerStatuses": ephemeral or [],
        },
    }
    return msgspec.convert(item, Pod)


class Heard:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.containers: set[Container] = set()
        self.images: set[tuple[str, str]] = set()
        self.pods = PodEvents(
            Timeline(folder, "r1"),
            {"kafka-0": "zone-a"},
            self.containers.add,
            lambda component, image: self.images.add((component, image)),
        )

    @property
    def events(self) -> list[str]:
        return [item["event"] for item in told(self.folder)]


def test_the_life_of_a_pod_is_told_once(tmp_path: Path) -> None:
    heard = Heard(tmp_path)
    heard.pods.listed([pod()])
    heard.pods.changed("MODIFIED", pod())
    assert heard.events == ["added", "scheduled", "running", "ready"]
    assert all(item["at"] == T0_MICROS for item in told(tmp_path))
    assert told(tmp_path)[0]["detail"]["zone"] == "zone-a"
    ended = {"terminated": {"exitCode": 137, "signal": 9, "finishedAt": T0, "containerID": "c1"}}
    heard.pods.changed("MODIFIED", pod(ready=False, state=ended))
    assert heard.events[4:] == ["exited", "notready"]
    exited = told(tmp_path)[4]
    assert exited["detail"]["exitCode"] == 137
    assert exited["detail"]["objectAt"] == T0_MICROS != exited["at"]
    heard.pods.changed("MODIFIED", pod(ready=False, state=ended, deletionTimestamp=T0))
    heard.pods.changed("DELETED", pod(ready=False, state=ended, deletionTimestamp=T0))
    assert heard.events[6:] == ["terminating", "deleted"]
    assert heard.pods.gone("u1")
    assert heard.containers == {Container("t-kafka-0-0", "u1", "kafka", "kafka", ephemeral=False)}
    assert heard.images == {("kafka", "sha256:1")}


def test_a_pod_deleted_while_nobody_watched_is_told_of(tmp_path: Path) -> None:
    heard = Heard(tmp_path)
    heard.pods.listed([pod()])
    heard.pods.listed([])
    assert heard.events[-1] == "deleted"


def test_an_ephemeral_container_is_followed_too(tmp_path: Path) -> None:
    heard = Heard(tmp_path)
    running = {"running": {"startedAt": T0}}
    ephemeral = [{"name": "krt-crash-a-1", "containerID": "c2", "state": running}]
    heard.pods.changed("MODIFIED", pod(ephemeral=ephemeral))
    assert Container("t-kafka-0-0", "u1", "krt-crash-a-1", "kafka", ephemeral=True) in (
        heard.containers
    )


def test_the_journal_is_told_with_its_own_times(tmp_path: Path) -> None:
    injected: list[tuple[str, int]] = []
    status = StatusEvents(
        Timeline(tmp_path, "r1"),
        {"down": {"action": "CrashPod", "duration": 5}},
        lambda name, at: injected.append((name, at)),
    )
    fault = {
        "name": "down",
        "state": "Reverted",
        "targets": [{"pod": "t-kafka-0-0", "member": "kafka-0"}],
        "injectedAt": "2026-11-21T04:03:19.123456Z",
        "verified": True,
        "observations": [{"kind": "PodDeleted", "subject": "p", "at": T0}],
    }
    document = {
        "status": {
            "phases": [{"name": "Injecting", "startTime": T0}],
            "faults": [fault],
            "inconclusiveReasons": [
                {"code": "FaultNotVerified", "kind": "coverage", "message": "m", "at": T0}
            ],
        }
    }
    item = msgspec.convert(document, KafkaResilienceTest)
    status.listed([item])
    status.changed("MODIFIED", item)
    events = told(tmp_path)
    assert [(item["source"], item["event"]) for item in events] == [
        ("phase", "entered"),
        ("fault", "injected"),
        ("fault", "observed"),
        ("guard", "FaultNotVerified"),
    ]
    assert events[1]["at"] == T0_MICROS + 123_456
    assert events[1]["detail"]["action"] == "CrashPod"
    assert events[2]["detail"]["observations"][0]["at"] == T0_MICROS


def test_a_recorder_that_was_replaced_leaves_a_gap(tmp_path: Path) -> None:
    first = Timeline(tmp_path, "r1")
    first.write("recorder", "started", "recorder", at=T0_MICROS)
    Timeline(tmp_path, "r2")
    gap = told(tmp_path)[-1]
    assert gap["event"] == "gap"
    assert gap["detail"]["from"] == T0_MICROS


def test_short_gaps_are_not_told(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path, "r1")
    timeline.gap("pods", 0, 1_000_000)
    assert timeline.counts == {"events": 0, "gaps": 0}


def test_images_are_added_to_the_plan(tmp_path: Path) -> None:
    run = RunJson(tmp_path / "run.json", {"schemaVersion": 2})
    run.image("kafka", "sha256:1")
    assert json.loads((tmp_path / "run.json").read_text()) == {
        "schemaVersion": 2,
        "imageIds": {"kafka": ["sha256:1"]},
    }


@pytest.mark.parametrize(
    ("time", "last", "is_later"),
    [
        ("2026-11-21T04:03:19.12Z", "", True),
        ("2026-11-21T04:03:19.12Z", "2026-11-21T04:03:19.119999999Z", True),
        ("2026-11-21T04:03:19.12Z", "2026-11-21T04:03:19.120000000Z", False),
        ("2026-11-21T04:03:19Z", "2026-11-21T04:03:18.9Z", True),
    ],
)
def test_log_timestamps_compare_by_time(time: str, last: str, is_later: bool) -> None:
    assert later(time, last) is is_later


def test_a_log_is_resumed_after_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "p.log"
    assert not last_timestamp(path, "")
    path.write_text("2026-11-21T04:03:19.1Z a\n2026-11-21T04:03:19.2Z [krt-1] b\n")
    assert last_timestamp(path, "") == "2026-11-21T04:03:19.2Z"
    assert last_timestamp(path, "krt-1") == "2026-11-21T04:03:19.2Z"


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ('{"krt":"member","event":"killed","at":5,"member":"kafka-0"}', "killed"),
        ('{"krt":"other","event":"killed","at":5}', None),
        ('{"krt":"member","event":"killed"}', None),
        ('{"krt":', None),
    ],
)
def test_the_wrappers_lines_are_recognised(text: str, event: str | None) -> None:
    parsed = parse_member_line(text.encode())
    assert (parsed or {}).get("event") == event


def test_the_mode_of_a_zookeeper() -> None:
    assert parse_mode("Zookeeper version: 3.8\nMode: leader\n") == "leader"
    assert parse_mode("This ZooKeeper instance is not currently serving requests\n") == WITHOUT


@pytest.mark.parametrize(
    ("said", "leader"),
    [
        (("follower", "leader", "follower"), "zk-1"),
        (("standalone",), "zk-0"),
        (("follower", SILENT, "follower"), None),  # a slow leader is no lost quorum
        ((SILENT, SILENT, SILENT), None),
        ((WITHOUT, WITHOUT, SILENT), ""),
        ((WITHOUT, SILENT, SILENT), None),
        ((WITHOUT, WITHOUT, "follower"), None),  # it will say so itself, in a tick or two
    ],
)
def test_a_lost_quorum_is_told_only_where_it_is_certain(
    said: tuple[str, ...], leader: str | None
) -> None:
    assert verdict({f"zk-{number}": mode for number, mode in enumerate(said)}) == leader


def test_times_of_the_api_become_microseconds() -> None:
    assert micros(T0) == T0_MICROS
    assert micros("2026-11-21T04:03:19.123456Z") == T0_MICROS + 123_456
