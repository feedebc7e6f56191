from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.unit.traffic.timelines import T0, T0_MICROS, recorded, refuse_once

from krt_traffic.errors import RecordingError
from krt_traffic.kubernetes.objects import Pod
from krt_traffic.recorder.pods import Container, PodEvents
from krt_traffic.recorder.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path

RUNNING = {"running": {"startedAt": T0}}
EXITED = {"terminated": {"exitCode": 137, "signal": 9, "finishedAt": T0, "containerID": "c1"}}


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
                    "state": state or RUNNING,
                }
            ],
            "ephemeralContainerStatuses": ephemeral or [],
        },
    }
    return msgspec.convert(item, Pod)


@dataclass
class Watched:
    """A PodEvents with what it reports."""

    folder: Path
    containers: set[Container] = field(default_factory=set)
    images: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.pods = PodEvents(
            Timeline(self.folder, "r1"),
            {"kafka-0": "zone-a"},
            self.containers.add,
            lambda component, image: self.images.add((component, image)),
        )

    @property
    def events(self) -> list[str]:
        return [item["event"] for item in recorded(self.folder)]


def test_listed_pod_is_recorded_once_with_the_times_of_kubernetes(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.pods.listed([pod()])
    watched.pods.changed("MODIFIED", pod())
    assert watched.events == ["added", "scheduled", "running", "ready"]
    assert all(item["at"] == T0_MICROS for item in recorded(tmp_path))
    assert recorded(tmp_path)[0]["detail"]["zone"] == "zone-a"
    assert watched.containers == {Container("t-kafka-0-0", "u1", "kafka", "kafka", ephemeral=False)}
    assert watched.images == {("kafka", "sha256:1")}


def test_changed_pod_is_recorded_with_the_time_it_was_seen(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.pods.listed([pod()])
    watched.pods.changed("MODIFIED", pod(ready=False, state=EXITED))
    assert watched.events[4:] == ["exited", "notready"]
    exited = recorded(tmp_path)[4]
    assert exited["detail"]["exitCode"] == 137
    assert exited["detail"]["objectAt"] == T0_MICROS != exited["at"]


def test_deleted_pod_is_recorded_and_gone(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.pods.listed([pod()])
    assert not watched.pods.gone("u1")
    watched.pods.changed("MODIFIED", pod(deletionTimestamp=T0))
    watched.pods.changed("DELETED", pod(deletionTimestamp=T0))
    assert watched.events[4:] == ["terminating", "deleted"]
    assert watched.pods.gone("u1")


def test_listed_without_a_known_pod_records_its_deletion(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.pods.listed([pod()])
    watched.pods.listed([])
    assert watched.events[-1] == "deleted"


def test_changed_pod_with_an_ephemeral_container_reports_it(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    ephemeral = [{"name": "krt-crash-a-1", "containerID": "c2", "state": RUNNING}]
    watched.pods.changed("MODIFIED", pod(ephemeral=ephemeral))
    container = Container("t-kafka-0-0", "u1", "krt-crash-a-1", "kafka", ephemeral=True)
    assert container in watched.containers


@pytest.mark.parametrize("event", ["running", "ready", "deleted"])
def test_event_that_was_refused_is_recorded_when_the_pod_is_seen_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    refuse_once(monkeypatch, event)
    watched = Watched(tmp_path)
    with pytest.raises(RecordingError, match="No space left on device"):
        watched.pods.changed("DELETED", pod())
    watched.pods.changed("DELETED", pod())
    assert watched.events == ["added", "scheduled", "running", "ready", "deleted"]
    assert watched.pods.gone("u1")
