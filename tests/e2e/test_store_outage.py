"""The object store of the chart is killed before a broker is, and comes back during that fault.

Clients go on meanwhile, and what they did is in the evidence once. Their commits wait. The run is
Inconclusive for the outage alone, and nothing of it is counted against Kafka.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from kit.run import LABEL, Run, small
from kit.store import EvidenceStore
from kit.wait import wait_until

if TYPE_CHECKING:
    from kit.controller import Controller
    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.alone]

OUTAGE = timedelta(seconds=10)
"""How long the store is unavailable at least, both before the fault and during it."""

MICROS = 1_000_000

HICCUP = OUTAGE // timedelta(microseconds=2)
"""µs: half of an outage that was counted as a silence of Kafka or of its clients. What a busy
machine does by itself is shorter."""

WAITING, AGAIN = "waiting for the evidence store", '"krt":"evidence"'
"""What clients log when the store has become unavailable, and when it is available again."""


class Outage(NamedTuple):
    """From when to when no pod of the run could write evidence, and when the fault was injected.

    All in UTC µs.
    """

    start: int
    end: int
    injected: int


@pytest.fixture(scope="module")
def run(
    module_kubectl: Kubectl, controller: Controller, tmp_path_factory: pytest.TempPathFactory
) -> Run:
    tested = Run.apply(
        module_kubectl,
        small(
            "store-outage",
            kafka={"replicas": 3, "config": {"zookeeper.session.timeout.ms": "6000"}},
            topics=[
                {
                    "name": "foo",
                    "partitions": 3,
                    "replicationFactor": 3,
                    "config": {"min.insync.replicas": "2"},
                }
            ],
            traffic={
                "producers": [
                    {"name": "p", "topic": "foo", "acks": "all", "recordsPerSecond": 200}
                ],
                "consumers": [{"name": "c", "topics": ["foo"], "group": "g", "replicas": 2}],
            },
            warmup="10s",
            faults=[
                {
                    "name": "leader-down",
                    # The outage begins a few seconds after the phase.
                    "delay": "30s",
                    "action": "CrashPod",
                    "target": {"role": "PartitionLeader", "topic": "foo", "partition": 0},
                    "duration": "20s",
                }
            ],
            evidence={"objectStore": {}},
        ),
    )
    tested.reach("Injecting")
    with EvidenceStore(controller.kubectl).unavailable():
        wait_until(lambda: _all_log(tested, WAITING), 30, "every client waiting for the store")
        injected = wait_until(lambda: _injected(tested), 60, "the leader's crash injected")
        until = datetime.fromisoformat(injected) + OUTAGE
        wait_until(lambda: datetime.now(UTC) > until, 60, "the outage lasting into the fault")
    wait_until(lambda: _all_log(tested, AGAIN), 30, "every client writing again")
    tested.finish()
    return tested.copied(tmp_path_factory.mktemp("evidence"))


def _all_log(run: Run, text: str) -> bool:
    pods = [
        pod["metadata"]["name"]
        for pod in run.kubectl.items(
            "pods",
            "-l",
            f"{LABEL}={run.uid},app.kubernetes.io/component in (producer,consumer)",
        )
    ]
    return len(pods) == 3 and all(text in run.kubectl("logs", pod) for pod in pods)


def _injected(run: Run) -> str | None:
    [fault] = run.status.get("faults") or [{}]
    when: str | None = fault.get("injectedAt")
    return when


@pytest.fixture(scope="module")
def outage(run: Run) -> Outage:
    gaps = [
        event["detail"]
        for event in run.timeline("recorder")
        if event["event"] == "gap" and event["detail"]["stream"] == "evidence"
    ]
    [fault] = run.scorecard()["faults"]
    injected = fault["injectedAt"]
    # Who had nothing to write before the fault, as a new container's log, began to wait after it.
    start = max(gap["from"] for gap in gaps if gap["from"] < injected)
    return Outage(start, min(gap["to"] for gap in gaps), injected)


def test_store_outage_is_in_the_timeline_before_and_during_the_fault(outage: Outage) -> None:
    least = OUTAGE // timedelta(microseconds=1)
    assert outage.injected - outage.start > least, outage
    assert outage.end - outage.injected > least, outage


def test_store_outage_is_the_one_reason_for_which_the_run_is_inconclusive(run: Run) -> None:
    status = run.status
    assert (status["phase"], status["verdict"]) == ("Completed", "Inconclusive"), status
    reasons = run.scorecard()["inconclusiveReasons"]
    assert {(reason["kind"], reason["code"], reason["subject"]) for reason in reasons} == {
        ("coverage", "TimelineGap", "evidence")
    }, reasons
    assert "No row is missing" in reasons[0]["message"]


def test_store_outage_leaves_a_balanced_ledger_without_loss(run: Run) -> None:
    ledger = run.scorecard()["ledger"]
    assert ledger["balanced"] == 1, ledger
    assert ledger["attempted"] == ledger["acked"] + ledger["failed"] + ledger["unknown"]
    assert ledger["acked"] > 5_000
    assert (ledger["lost"], ledger["undelivered"], ledger["unledgered"]) == (0, 0, 0), ledger


def test_store_outage_books_nothing_on_kafka(run: Run) -> None:
    card = run.scorecard()
    violations = {
        name: anomaly for name, anomaly in card["anomalies"].items() if anomaly["violations"]
    }
    assert violations == {}
    assert all(objective["met"] for objective in card["objectives"]), card["objectives"]
    assert card["warnings"] == []
    [fault] = card["faults"]
    assert fault["verified"], fault


def test_store_outage_is_no_gap_of_clients(run: Run) -> None:
    measured = run.scorecard()["availability"]
    assert {entry["direction"] for entry in measured} == {"write", "read"}
    assert all(entry["measured"] for entry in measured), measured
    booked = [
        gap
        for entry in measured
        for gap in entry["gaps"]
        if "fault" not in gap and gap["duration"] > HICCUP
    ]
    assert booked == []


def test_store_outage_delays_commits_and_no_delivery(run: Run, outage: Outage) -> None:
    events = [row for row in rows(run, "consumer_events") if row["event"] == "committed"]
    # A commit that was on its way is answered within a second.
    within = [row for row in events if outage.start + MICROS < row["at"] < outage.end]
    assert within == []
    assert any(row["at"] < outage.start for row in events)
    assert any(row["at"] > outage.end for row in events)
    delivered: dict[int, list[int]] = defaultdict(list)
    for row in rows(run, "consume"):
        if outage.start <= row["delivered_at"] <= outage.injected:
            delivered[row["partition"]].append(row["delivered_at"])
    assert sorted(delivered) == [0, 1, 2]
    for times in delivered.values():
        spaced = [outage.start, *sorted(times), outage.injected]
        assert max(after - before for before, after in pairwise(spaced)) < HICCUP


def test_store_outage_loses_and_doubles_no_row(run: Run) -> None:
    """An independent count, in plain Python: each incarnation numbers what it does from 0."""
    done = subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"],
        cwd=run.bundle,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    [summary] = rows(run, "producer_summary")
    sent = sorted(row["seq"] for row in rows(run, "produce"))
    assert sent == list(range(summary["attempted"]))
    counted: dict[str, list[int]] = defaultdict(list)
    for table in ("consume", "consumer_events"):
        for row in rows(run, table):
            counted[row["incarnation"]].append(row["event_seq"])
    assert len(counted) == 2
    for numbers in counted.values():
        assert sorted(numbers) == list(range(len(numbers)))


def test_store_outage_delays_no_event_of_a_pod(run: Run, outage: Outage) -> None:
    """Kubernetes gives the second in which it happened, the recorder when it saw it."""
    seen = [
        event
        for event in run.timeline("pod")
        if outage.injected <= event["detail"].get("objectAt", 0) < outage.end
    ]
    # The crash itself comes from a container that is added to the broker's pod.
    assert seen
    late = [event for event in seen if event["at"] - event["detail"]["objectAt"] > HICCUP]
    assert late == []


def rows(run: Run, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(run.bundle / table).to_pylist()
    return found
