"""The reports of stored results: rendered from compact scorecards alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hack import reports

from krt_cli.scenarios.archive import Archive

ROOT = Path(__file__).resolve().parents[3]


def run(**card: Any) -> dict[str, Any]:
    status = {"score": 97, "summary": "nothing <lost>"}
    test = {"metadata": {"name": "one", "creationTimestamp": "x"}, "status": status}
    return {"uid": "u1", "key": "k", "manifest": "m", "test": test, "card": card}


def test_write_results_in_git_give_a_report_of_each_scored_scenario(tmp_path: Path) -> None:
    archive = Archive(ROOT / "docs/scenarios/results")
    (tmp_path / "gone.html").write_text("")
    count = reports.write(archive, tmp_path)
    scored = [
        path.stem for path in archive.folder.glob("*.json") if archive.runs(path.stem)[-1].card
    ]
    assert sorted(path.stem for path in tmp_path.glob("*.html")) == sorted(scored)
    assert count == len(scored)


def test_write_last_run_is_reported_and_unscored_run_is_not(tmp_path: Path) -> None:
    for name, card in (("one", {"verdict": "Passed", "inconclusiveReasons": []}), ("two", {})):
        runs = [run(verdict="Failed", inconclusiveReasons=[]), run(**card)]
        (tmp_path / f"{name}.json").write_text(json.dumps(runs))
    assert reports.write(Archive(tmp_path), tmp_path) == 1
    text = (tmp_path / "one.html").read_text()
    assert "<title>Passed: krt-scenario/one</title>" in text
    assert "nothing &lt;lost&gt;" in text
    assert not (tmp_path / "two.html").exists()
