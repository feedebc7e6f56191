"""A detector that detects: a run that must lose acknowledged records, and says which."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from kit.run import Run, manifest

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def run(module_kubectl: Kubectl) -> Run:
    lossy = Run.apply(module_kubectl, manifest("manifests/scenarios/no-isr-left-unclean.yaml"))
    lossy.finish(540)
    return lossy


def test_the_loss_is_found_and_permitted(run: Run) -> None:
    status = run.status
    assert (status["phase"], status["verdict"]) == ("Completed", "Degraded"), status
    assert status["ledger"]["lost"] > 0
    assert "lost" in status["summary"]
    lost = run.scorecard()["anomalies"]["lost-write"]
    assert lost["class"] == "AllowedByConfig"
    assert lost["count"] == status["ledger"]["lost"]
    assert sum(lost["rules"].values()) == lost["count"]
    assert any("unclean" in rule.lower() for rule in lost["rules"])


def test_nothing_is_accused(run: Run) -> None:
    accused = {
        name: anomaly
        for name, anomaly in run.scorecard()["anomalies"].items()
        if anomaly["class"] == "Violation"
    }
    assert accused == {}


def test_it_says_which_records_and_the_ledgers_agree(run: Run) -> None:
    lost = run.scorecard()["anomalies"]["lost-write"]
    sends = pq.read_table(run.bundle / "produce").to_pylist()
    acked = {
        (s["producer"], s["producer_incarnation"], s["seq"]): s
        for s in sends
        if s["outcome"] == "acked"
    }
    kept = {
        (r["producer"], r["producer_incarnation"], r["seq"])
        for r in pq.read_table(run.bundle / "log").to_pylist()
    }
    # An independent count, in plain Python, of what was acknowledged and is not in the log.
    assert len(acked.keys() - kept) == lost["count"]
    assert lost["examples"]
    for example in lost["examples"]:
        record = (example["producer"], example["producer_incarnation"], example["seq"])
        assert record not in kept
        assert acked[record]["partition"] == example["partition"]
        assert acked[record]["offset"] == example["offset"]


def test_exit_code_of_the_ci_recipe(run: Run) -> None:
    verdict = run.kubectl("get", f"krt/{run.name}", "-o", "jsonpath={.status.verdict}")
    assert subprocess.run(["test", verdict, "=", "Passed"], check=False).returncode == 1
