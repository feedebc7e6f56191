from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from krt_contract.metadata import HistorySource
from krt_traffic.errors import RecordingError
from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.run_json import Additions, RunJson

if TYPE_CHECKING:
    from pathlib import Path


def test_image_client_and_source_of_the_history_are_added_to_the_plan(tmp_path: Path) -> None:
    plan = {"schemaVersion": 2, "versions": {"operator": "0.1.0"}}
    run = RunJson(tmp_path / "run.json", plan, "librdkafka 2", HistorySource.METADATA_LOG)
    run.image("kafka", "sha256:1")
    run.kafka("4.4.0")
    assert json.loads((tmp_path / "run.json").read_text()) == {
        "schemaVersion": 2,
        "versions": {"operator": "0.1.0", "kafka": "4.4.0", "client": "librdkafka 2"},
        "imageIds": {"kafka": ["sha256:1"]},
        "history": {"source": "metadata-log", "strength": "Complete"},
    }


def test_run_json_of_a_recorder_that_is_started_again_keeps_what_the_first_one_saw(
    tmp_path: Path,
) -> None:
    """It follows the members' logs from where they ended, and sees no pod that is gone."""
    metadata = {"mode": "KRaft", "clusterId": "c"}
    plan = {"schemaVersion": 2, "versions": {"operator": "0.1.0"}, "metadata": metadata}
    path = tmp_path / "run.json"
    first = RunJson(path, plan, "librdkafka 2", HistorySource.METADATA_LOG)
    first.image("kafka", "sha256:1")
    first.kafka("4.4.0")
    first.features({"metadata.version": 29})
    before = path.read_text()
    RunJson(path, plan, "librdkafka 2", HistorySource.METADATA_LOG)
    assert path.read_text() == before


def test_features_are_part_of_the_metadata_and_the_last_ones_count(tmp_path: Path) -> None:
    path, metadata = tmp_path / "run.json", {"mode": "KRaft", "clusterId": "c"}
    run = RunJson(path, {"metadata": metadata}, "librdkafka 2", HistorySource.METADATA_LOG)
    run.features({"metadata.version": 25})
    run.features({"group.version": 1, "metadata.version": 29})
    features = {"group.version": 1, "metadata.version": 29}
    assert json.loads(path.read_text())["metadata"] == metadata | {"features": features}


def test_features_of_a_cluster_that_tells_none_are_absent(tmp_path: Path) -> None:
    path, metadata = tmp_path / "run.json", {"mode": "ZooKeeper", "clusterId": ""}
    run = RunJson(path, {"metadata": metadata}, "librdkafka 2", HistorySource.POLLING)
    run.features({})
    assert json.loads(path.read_text())["metadata"] == metadata


class Waiting:
    """A document whose store answers only once it is let; then it may fail."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []
        self.available = threading.Event()
        self.available.set()
        self.broken = False

    def read(self) -> dict[str, Any]:
        return {}

    def write(self, document: dict[str, Any]) -> None:
        self.available.wait()
        if self.broken:
            raise OSError("Input/output error")
        self.written.append(document)


def additions(document: Waiting, failures: Failures) -> Additions:
    plan = {"versions": {}, "metadata": {"mode": "KRaft"}}
    run_json = RunJson(document, plan, "librdkafka 2", HistorySource.METADATA_LOG)
    found = Additions(run_json, failures)
    found.start()
    return found


def test_additions_do_not_wait_for_the_store_and_keep_their_order() -> None:
    document = Waiting()
    added = additions(document, Failures(lambda: None))
    document.available.clear()
    added.image("kafka", "sha256:1")
    added.kafka("4.4.0")
    for level in (25, 29):
        added.features({"metadata.version": level})
    assert [item["imageIds"] for item in document.written] == [{}]
    document.available.set()
    added.finish()
    last = document.written[-1]
    assert last["imageIds"] == {"kafka": ["sha256:1"]}
    assert last["versions"]["kafka"] == "4.4.0"
    assert last["metadata"]["features"] == {"metadata.version": 29}


def test_additions_that_cannot_be_written_end_the_recorder() -> None:
    document, ended = Waiting(), threading.Event()
    failures = Failures(ended.set)
    added = additions(document, failures)
    document.broken = True
    added.kafka("4.4.0")
    added.finish()
    assert ended.is_set()
    with pytest.raises(RecordingError, match=r"run.json could not be written"):
        failures.check()
