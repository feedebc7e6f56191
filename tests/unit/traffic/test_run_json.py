from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krt_contract.metadata import HistorySource
from krt_traffic.recorder.run_json import RunJson

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
