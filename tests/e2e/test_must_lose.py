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


def test_every_replica_was_dumped_and_those_in_sync_are_alike(run: Run) -> None:
    assert run.phases()[4:7] == ["Draining", "DumpingReplicas", "Scoring"]
    told = run.condition("ReplicasDumped")
    assert (told["status"], told["reason"]) == ("True", "Dumped"), told
    card = run.scorecard()
    assert [reason["code"] for reason in card["inconclusiveReasons"]] == []
    assert card["anomalies"]["replica-divergence"]["count"] == 0
    (partition,) = card["replicas"]
    assert len(partition["compared"]) == 2
    # The same in plain Python: both brokers hold the same batches, up to the same end.
    held: dict[int, set[tuple[int, ...]]] = {}
    columns = ("offset", "leader_epoch", "batch", "batch_last", "size", "crc")
    for row in pq.read_table(run.bundle / "replica_log").to_pylist():
        held.setdefault(row["broker"], set()).add(tuple(row[name] for name in columns))
    assert sorted(held) == partition["compared"]
    first, second = held.values()
    assert first == second
    assert {entry[0] for entry in first} == set(range(partition["highWatermark"]))
    # Several leaders wrote it.
    assert len({entry[1] for entry in first}) > 1


def test_what_is_lost_is_held_by_no_replica(run: Run) -> None:
    for example in run.scorecard()["anomalies"]["lost-write"]["examples"]:
        assert (example["presentOnBrokers"], len(example["dumped"])) == ([], 2)


def test_no_dump_is_left(run: Run) -> None:
    assert not [name for name in run.left() if "-dump-" in name]


def test_exit_code_of_the_ci_recipe(run: Run) -> None:
    verdict = run.kubectl("get", f"krt/{run.name}", "-o", "jsonpath={.status.verdict}")
    assert subprocess.run(["test", verdict, "=", "Passed"], check=False).returncode == 1
