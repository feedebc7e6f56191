"""Evidence that was recorded on a real cluster, scored as ``krt score --sample`` does it."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from krt_scoring.history.ledger_identity import ACKED_OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE = Path(__file__).parents[3] / "cli/src/krt_cli/sample/leader-crash.tar.gz"
SENT = 58_976
"""Records sent in the recorded run, as its own scorecard said."""


def test_recorded_leader_crash_passes_with_its_outage_measured(
    krt_score: Callable[..., int], tmp_path: Path
) -> None:
    with tarfile.open(SAMPLE) as archive:
        archive.extractall(tmp_path, filter="data")
    assert krt_score(str(tmp_path / "leader-crash")) == 0
    card = json.loads((tmp_path / "leader-crash/scorecard.json").read_text())
    assert card["verdict"] == "Passed"
    assert card["inconclusiveReasons"] == []
    assert card["ledger"]["acked"] == card["ledger"]["attempted"] == SENT
    assert card["ledger"]["lost"] == card["ledger"]["undelivered"] == 0
    producers = card["producers"]
    assert [item["producer"] for item in producers] == ["idem", "plain"]
    for term in (*ACKED_OUTCOMES, "attempted", "acked", "failed", "unknown"):
        assert sum(item[term] for item in producers) == card["ledger"][term], term
    pauses = {item["name"]: item.get("value") for item in card["objectives"]}
    session_timeout, longest = 6_000_000, 15_000_000
    assert session_timeout < pauses["maxWriteUnavailability"] < longest
    assert "<title>Passed" in (tmp_path / "leader-crash/report.html").read_text()
