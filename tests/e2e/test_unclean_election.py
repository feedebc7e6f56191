"""A run that must lose acknowledged records, and names them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from kit.run import Run, manifest, watch

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def run(module_kubectl: Kubectl) -> Run:
    lossy = Run.apply(module_kubectl, manifest("manifests/scenarios/no-isr-left-unclean.yaml"))
    lossy.finish(540)
    return lossy


def test_unclean_election_loss_is_found_and_permitted(run: Run) -> None:
    status = run.status
    assert (status["phase"], status["verdict"]) == ("Completed", "Degraded"), status
    assert status["ledger"]["lost"] > 0
    assert "lost" in status["summary"]
    lost = run.scorecard()["anomalies"]["lost-write"]
    assert lost["class"] == "AllowedByConfig"
    assert lost["count"] == status["ledger"]["lost"]
    assert sum(lost["rules"].values()) == lost["count"]
    assert any("unclean" in rule.lower() for rule in lost["rules"])


def test_unclean_election_has_no_violation(run: Run) -> None:
    violations = {
        name: anomaly
        for name, anomaly in run.scorecard()["anomalies"].items()
        if anomaly["class"] == "Violation"
    }
    assert violations == {}


def test_unclean_election_lost_records_agree_with_the_ledgers(run: Run) -> None:
    lost = run.scorecard()["anomalies"]["lost-write"]
    sends = pq.read_table(run.bundle / "produce").to_pylist()
    acked = {
        (s["producer"], s["producer_incarnation"], s["seq"]): s
        for s in sends
        if s["outcome"] == "acked"
    }
    in_log = {
        (r["producer"], r["producer_incarnation"], r["seq"])
        for r in pq.read_table(run.bundle / "log").to_pylist()
    }
    # An independent count, in plain Python, of what was acknowledged and is not in the log.
    assert len(acked.keys() - in_log) == lost["count"]
    assert lost["examples"]
    for example in lost["examples"]:
        record = (example["producer"], example["producer_incarnation"], example["seq"])
        assert record not in in_log
        assert acked[record]["partition"] == example["partition"]
        assert acked[record]["offset"] == example["offset"]


def test_unclean_election_every_replica_is_dumped_and_those_in_sync_are_equal(run: Run) -> None:
    assert run.phases()[4:7] == ["Draining", "DumpingReplicas", "Scoring"]
    condition = run.condition("ReplicasDumped")
    assert (condition["status"], condition["reason"]) == ("True", "Dumped"), condition
    card = run.scorecard()
    assert [reason["code"] for reason in card["inconclusiveReasons"]] == []
    assert card["anomalies"]["replica-divergence"]["count"] == 0
    (partition,) = card["replicas"]
    assert len(partition["compared"]) == 2
    # The same in plain Python: both brokers hold the same batches, up to the same end.
    batches: dict[int, set[tuple[int, ...]]] = {}
    columns = ("offset", "leader_epoch", "batch", "batch_last", "size", "crc")
    for row in pq.read_table(run.bundle / "replica_log").to_pylist():
        batches.setdefault(row["broker"], set()).add(tuple(row[name] for name in columns))
    assert sorted(batches) == partition["compared"]
    first, second = batches.values()
    assert first == second
    assert {entry[0] for entry in first} == set(range(partition["highWatermark"]))
    # Several leaders have written it.
    assert len({entry[1] for entry in first}) > 1


def test_unclean_election_lost_records_are_on_no_replica(run: Run) -> None:
    for example in run.scorecard()["anomalies"]["lost-write"]["examples"]:
        assert (example["presentOnBrokers"], len(example["dumped"])) == ([], 2)


def test_unclean_election_no_dump_job_remains(run: Run) -> None:
    assert not [name for name in run.remaining() if "-dump-" in name]


def test_unclean_election_fails_the_ci_recipe(run: Run) -> None:
    verdict = run.kubectl("get", f"krt/{run.name}", "-o", "jsonpath={.status.verdict}")
    assert subprocess.run(["test", verdict, "=", "Passed"], check=False).returncode == 1


def test_unclean_election_watched_exits_with_2_for_degraded(run: Run) -> None:
    watched = watch(run)
    assert watched.returncode == 2, watched.stderr
    assert "verdict       Degraded, score " in watched.stdout
