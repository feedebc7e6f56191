from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krt_contract.metadata import HistorySource
from krt_traffic.recorder.run_json import RunJson

if TYPE_CHECKING:
    from pathlib import Path


def test_image_client_and_source_of_the_history_are_added_to_the_plan(tmp_path: Path) -> None:
    plan = {"schemaVersion": 2, "versions": {"kafka": "3.9.1"}}
    run = RunJson(tmp_path / "run.json", plan, "librdkafka 2", HistorySource.METADATA_LOG)
    run.image("kafka", "sha256:1")
    assert json.loads((tmp_path / "run.json").read_text()) == {
        "schemaVersion": 2,
        "versions": {"kafka": "3.9.1", "client": "librdkafka 2"},
        "imageIds": {"kafka": ["sha256:1"]},
        "history": {"source": "metadata-log", "strength": "Complete"},
    }
