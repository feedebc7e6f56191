"""A scoring job that cannot run keeps the evidence and says how to score it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kit.run import Run, score, small

if TYPE_CHECKING:
    from pathlib import Path

    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.long]


def test_scoring_executor_fits_on_no_node_is_inconclusive_with_remedy(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    greedy = small(
        "no-executors",
        scoring={"executors": 1, "executor": {"memory": "65536Mi"}},
        timeouts={"scoring": "60s"},
    )
    run = Run.apply(kubectl, greedy)
    status = run.finish(300)
    assert status["verdict"] == "Inconclusive", status
    assert "ScoringFailed" in {reason["code"] for reason in status["inconclusiveReasons"]}
    message = run.condition("Scored")["message"]
    assert "krt evidence no-executors" in message
    assert "krt score" in message
    assert list((run.bundle / "produce").glob("*.parquet"))
    score(run.bundle, tmp_path / "scorecard.json")


def test_scoring_driver_memory_too_small_names_the_field(kubectl: Kubectl) -> None:
    # Below what Spark itself needs.
    run = Run.apply(kubectl, small("little-memory", scoring={"driver": {"memory": "128Mi"}}))
    status = run.finish(300)
    assert (status["phase"], status["verdict"]) == ("Completed", "Inconclusive"), status
    message = run.condition("Scored")["message"]
    assert "spec.scoring.driver.memory" in message, message
    assert "krt evidence little-memory" in message
    assert "krt score" in message
    assert list((run.bundle / "produce").glob("*.parquet"))
