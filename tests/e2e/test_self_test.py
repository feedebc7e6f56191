"""The detector corrupts copies of a real run's evidence and detects every corruption."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kit.run import Run, manifest, score

if TYPE_CHECKING:
    from pathlib import Path

    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.long]

AT_LEAST = 15
"""Corruptions the sample hosts, at the least: it has deliveries, commits, a log and a crash."""


@pytest.fixture(scope="module")
def run(module_kubectl: Kubectl) -> Run:
    resource = manifest("manifests/sample.yaml", "self-tested")
    resource["spec"]["scoring"] = {"selfTest": True}
    tested = Run.apply(module_kubectl, resource)
    tested.finish(600)
    return tested


def test_self_test_detects_every_corruption(run: Run) -> None:
    status, card = run.status, run.scorecard()["selfTest"]
    missed = [item for item in card["corruptions"] if not item["detected"]]
    assert not missed, missed
    assert card["detected"] == card["total"] >= AT_LEAST
    summary = status["selfTest"]
    assert (summary["detected"], summary["total"]) == (card["detected"], card["total"])
    assert status["verdict"] == "Passed", status


def test_self_test_on_this_machine_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    again = tmp_path / "scorecard.json"
    score(run.bundle, again, "--self-test")
    assert again.read_bytes() == (run.bundle / "scorecard.json").read_bytes()
