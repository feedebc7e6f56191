"""The evidence of ``krt score --sample``: small, complete, without anything that scoring wrote."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from krt_contract import SCHEMA_VERSION

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "cli/src/krt_cli/sample/leader-crash.tar.gz"
LARGEST = 2_000_000
"""Bytes a clone may grow by, as in hack/record-sample."""

WRITTEN_BY_SCORING = {"scorecard.json", "scoring.json", "report.html", "junit.xml"}
LEDGERS = {"produce", "producer_summary", "consume", "consumer_events", "log", "log_end_offsets"}


def test_sample_is_small_and_holds_the_evidence_of_one_run_only() -> None:
    assert SAMPLE.stat().st_size < LARGEST
    with tarfile.open(SAMPLE) as archive:
        names = [Path(member.name) for member in archive.getmembers() if member.isfile()]
        plan = archive.extractfile("leader-crash/run.json")
        assert plan is not None
        run = json.load(plan)
    assert {name.parts[0] for name in names} == {"leader-crash"}
    assert {name.parts[1] for name in names} >= {*LEDGERS, "timeline", "logs", "run.json"}
    assert not {name.name for name in names} & WRITTEN_BY_SCORING
    assert run["schemaVersion"] == SCHEMA_VERSION
