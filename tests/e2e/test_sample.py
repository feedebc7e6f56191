"""The sample: a verified leader crash that loses nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from kit.run import PHASES, Run, manifest, score, watch

from krt_contract.schemas import OPTIONAL, TABLES

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from kit.controller import Controller
    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.alone]


@pytest.fixture(scope="module")
def followed(module_kubectl: Kubectl) -> tuple[Run, subprocess.CompletedProcess[str]]:
    """The sample, finished, and what ``krt watch`` printed meanwhile."""
    sample = Run.apply(module_kubectl, manifest("manifests/sample.yaml"))
    return sample, watch(sample)


@pytest.fixture(scope="module")
def run(followed: tuple[Run, subprocess.CompletedProcess[str]]) -> Run:
    """The sample, finished."""
    return followed[0]


def test_sample_passes(run: Run) -> None:
    status = run.status
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    assert status["score"] >= 80
    assert run.condition("Succeeded")["status"] == "True"
    assert run.condition("Finished")["status"] == "True"


def test_sample_enters_the_documented_phases(run: Run) -> None:
    assert run.phases() == list(PHASES)


def test_sample_watched_prints_verdict_and_evidence_and_exits_with_0(run: Run) -> None:
    watched = watch(run)
    assert watched.returncode == 0, watched.stderr
    assert "phase Completed" in watched.stdout
    assert "verdict       Passed, score " in watched.stdout
    assert f"evidence      {run.bundle}" in watched.stdout


def test_sample_followed_shows_rates_and_the_outage_as_it_happens(
    followed: tuple[Run, subprocess.CompletedProcess[str]],
) -> None:
    run, watched = followed
    lines = watched.stdout.splitlines()
    assert watched.returncode == 0, watched.stderr
    assert any(re.search(r"sends per second: [1-9]\d+ acked", line) for line in lines), lines
    began = [at for at, line in enumerate(lines) if "writes unavailable: foo-" in line]
    ended = [at for at, line in enumerate(lines) if "writes available: foo-" in line]
    assert began, lines
    assert ended, lines
    phases = {name: lines.index(line) for line in lines for name in PHASES if line.endswith(name)}
    assert phases["Injecting"] < began[0] < ended[0] < phases["Scoring"]
    assert not any("not shown" in line for line in lines)
    assert run.status["phase"] == "Completed"


def test_sample_ledger_balances_in_the_status(run: Run) -> None:
    ledger = run.status["ledger"]
    assert ledger["attempted"] == ledger["acked"] + ledger["failed"] + ledger["unknown"]
    assert ledger["acked"] > 10_000
    assert ledger["lost"] == 0
    assert ledger["acked"] == ledger["delivered"] + ledger.get("deliveredLate", 0)


def test_sample_crash_is_verified(run: Run) -> None:
    [fault] = run.status["faults"]
    assert fault["state"] == "Reverted"
    assert fault["verified"]
    kinds = {item["kind"] for item in fault["observations"]}
    assert {"ProcessKilled", "LeaderMoved"} <= kinds, kinds
    victim = fault["targets"][0]["member"].removeprefix("kafka-")
    leaders = [e["detail"] for e in run.timeline("partition") if e["subject"] == "foo-0"]
    assert str(leaders[0]["leader"]) == victim
    moved = [state for state in leaders if str(state["leader"]) not in (victim, "-1")]
    assert moved
    assert moved[0]["leader_epoch"] > leaders[0]["leader_epoch"]


def test_sample_members_run_on_different_nodes(run: Run) -> None:
    placed = {
        event["detail"]["member"]: event["detail"]
        for event in run.timeline("pod")
        if event["event"] in ("scheduled", "running", "ready") and event["detail"].get("node")
    }
    brokers = [placed[f"kafka-{i}"] for i in range(3)]
    keepers = [placed[f"zk-{i}"] for i in range(3)]
    nodes = [member["node"] for member in (*brokers, *keepers)]
    assert len(set(nodes)) == 6, nodes


def test_sample_bundle_has_every_table(run: Run) -> None:
    for table in TABLES.keys() - OPTIONAL:
        schema = TABLES[table]
        files = sorted((run.bundle / table).rglob("*.parquet"))
        assert files, f"no {table} in {run.bundle}"
        for path in files:
            assert pq.read_schema(path).names == schema.names, path
    for name in ("run.json", "scorecard.json", "scoring.json", "report.html", "junit.xml"):
        assert (run.bundle / name).stat().st_size > 0


def test_sample_scored_on_this_machine_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    card = tmp_path / "scorecard.json"
    score(run.bundle, card)
    assert card.read_bytes() == (run.bundle / "scorecard.json").read_bytes()


def test_sample_scoring_asks_for_nothing_that_its_role_refuses(
    run: Run, module_kubectl: Kubectl
) -> None:
    log = module_kubectl("logs", f"job/{run.name}-scoring-1")
    assert "executors took" in log
    refused = [line for line in log.splitlines() if "forbidden" in line.lower()]
    assert not refused, "\n".join(refused[:20])


def test_sample_only_result_and_evidence_remain(run: Run) -> None:
    kinds = {name.split("/")[0] for name in run.remaining()}
    assert "statefulset.apps" not in kinds
    assert "persistentvolumeclaim" not in kinds
    assert f"configmap/{run.name}-scorecard" in run.remaining()


def test_sample_controller_needs_little_memory(run: Run, controller: Controller) -> None:
    assert run.uid
    peak = controller.memory_peak()
    assert peak is None or peak <= 200 * 2**20
