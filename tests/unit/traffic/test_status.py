from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.unit.traffic.timelines import T0, T0_MICROS, recorded, refuse_once

from krt_traffic.errors import RecordingError
from krt_traffic.kubernetes.objects import KafkaResilienceTest
from krt_traffic.recorder.status import StatusEvents
from krt_traffic.recorder.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path


def test_changed_status_is_recorded_once_with_its_own_times(tmp_path: Path) -> None:
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
    events = recorded(tmp_path)
    assert [(item["source"], item["event"]) for item in events] == [
        ("phase", "entered"),
        ("fault", "injected"),
        ("fault", "observed"),
        ("guard", "FaultNotVerified"),
    ]
    assert events[1]["at"] == T0_MICROS + 123_456
    assert events[1]["detail"]["action"] == "CrashPod"
    assert events[2]["detail"]["observations"][0]["at"] == T0_MICROS


def test_phase_that_was_refused_is_recorded_when_the_status_is_seen_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_once(monkeypatch, "entered")
    status = StatusEvents(Timeline(tmp_path, "r1"), {}, lambda _name, _at: None)
    document = {"status": {"phases": [{"name": "Injecting", "startTime": T0}]}}
    item = msgspec.convert(document, KafkaResilienceTest)
    with pytest.raises(RecordingError, match="No space left on device"):
        status.changed("MODIFIED", item)
    status.changed("MODIFIED", item)
    assert [event["subject"] for event in recorded(tmp_path)] == ["Injecting"]
