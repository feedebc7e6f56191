"""Every action on pods, volumes and partitions, on real nodes: what it does and what shows it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from kit.run import Run, small
from kit.wait import wait_until

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SESSION = {"zookeeper.session.timeout.ms": "6000"}
RECOVERED_WITHIN = 600
"""Seconds for a run of three faults, one after the other, on a busy machine."""


def resource(name: str, *faults: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a run of three brokers and little traffic under these faults."""
    body = {
        "kafka": {"replicas": 3, "config": SESSION},
        "zookeeper": {"replicas": 1},
        "topics": [
            {
                "name": "foo",
                "partitions": 2,
                "replicationFactor": 2,
                "config": {"min.insync.replicas": "1"},
            }
        ],
        "traffic": {
            "producers": [{"name": "p", "topic": "foo", "recordsPerSecond": 50}],
            "consumers": [{"name": "c", "topics": ["foo"], "group": "g", "replicas": 2}],
        },
        "timeouts": {"recovery": "3m"},
    }
    return small(name, **body, faults=list(faults), **spec)


def fault(run: Run, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in run.status["faults"] if item["name"] == name)
    return found


def observations(run: Run, name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the fault's observations by kind, once it is verified."""
    entry = fault(run, name)
    assert entry["verified"], entry
    found: dict[str, list[dict[str, Any]]] = {}
    for item in entry["observations"]:
        found.setdefault(item["kind"], []).append(item)
    return found


def when(text: str) -> datetime:
    return datetime.fromisoformat(text)


def assert_sound(run: Run) -> None:
    """No record is lost against the rules, and every fault is verified and recovered from."""
    status = run.status
    assert (status["phase"], status["verdict"]) in {
        ("Completed", "Passed"),
        ("Completed", "Degraded"),
    }, status
    assert not status.get("inconclusiveReasons"), status["inconclusiveReasons"]
    for item in status["faults"]:
        assert item["state"] == "Reverted", item
        assert item["verified"], item
        assert item["recoveredAt"], item


@pytest.fixture(scope="module")
def disturbed(module_kubectl: Kubectl) -> Run:
    """A freeze, evictions of which the budget refuses one, an election."""
    run = Run.apply(
        module_kubectl,
        resource(
            "disturbed",
            {
                "name": "frozen",
                "delay": "3s",
                "action": "FreezePod",
                "target": {"role": "PartitionLeader", "topic": "foo", "partition": 0},
                "duration": "12s",
            },
            {
                "name": "reader-frozen",
                "action": "FreezePod",
                "target": {"role": "Consumer", "name": "c", "ordinals": [0]},
                "duration": "4s",
            },
            {
                "name": "evicted",
                "action": "EvictPod",
                "target": {"role": "Broker", "ordinals": [1]},
                "duration": "15s",
            },
            {
                "name": "refused",
                "startsAfter": {"fault": "evicted", "event": "Started"},
                "delay": "5s",
                "action": "EvictPod",
                "target": {"role": "Broker", "ordinals": [2]},
                "duration": "15s",
            },
            {
                "name": "elected",
                "startsAfter": {"fault": "evicted", "event": "Recovered"},
                "action": "ElectPreferredLeaders",
                "target": {"role": "Partition", "topic": "foo"},
            },
        ),
    )
    run.finish(RECOVERED_WITHIN)
    return run


@pytest.fixture(scope="module")
def emptied(module_kubectl: Kubectl) -> Run:
    """A disk lost, then every broker restarted in turn."""
    run = Run.apply(
        module_kubectl,
        resource(
            "emptied",
            {
                "name": "disk",
                "delay": "3s",
                "action": "LoseDisk",
                "target": {"role": "PartitionLeader", "topic": "foo", "partition": 0},
                "duration": "10s",
            },
            {"name": "rolled", "action": "RollingRestart", "target": {"role": "Broker"}},
        ),
    )
    run.finish(RECOVERED_WITHIN)
    return run


@pytest.fixture(scope="module")
def moved(module_kubectl: Kubectl) -> Run:
    """Partitions moved to two of three brokers."""
    run = Run.apply(
        module_kubectl,
        resource(
            "moved",
            {
                "name": "move",
                "delay": "3s",
                "action": "Reassign",
                "target": {"role": "Partition", "topic": "foo"},
                "targetReplicas": [2, 0],
            },
        ),
    )
    run.finish(RECOVERED_WITHIN)
    return run


def test_freeze_pod_leader_loses_its_session_and_keeps_its_pod(disturbed: Run) -> None:
    assert_sound(disturbed)
    kinds = observations(disturbed, "frozen")
    assert {"ProcessStopped", "SessionExpired", "LeaderMoved"} <= kinds.keys(), kinds.keys()
    entry = fault(disturbed, "frozen")
    lasted = when(entry["revertedAt"]) - when(entry["injectedAt"])
    # By the node's clock: a late observation does not mean a late thaw.
    assert timedelta(seconds=12) <= lasted <= timedelta(seconds=13)
    uid, pod = entry["targets"][0]["uid"], entry["targets"][0]["pod"]
    events = [e["event"] for e in disturbed.timeline("member") if e["detail"]["uid"] == uid]
    assert events.index("frozen") < events.index("thawed")
    deleted = [
        e for e in disturbed.timeline("pod") if e["subject"] == pod and e["event"] == "deleted"
    ]
    assert all(when_micros(e["at"]) > when(entry["recoveredAt"]) for e in deleted)


def when_micros(at: int) -> datetime:
    return datetime.fromisoformat("1970-01-01T00:00:00+00:00") + timedelta(microseconds=at)


def test_freeze_pod_consumer_below_session_timeout_stays_in_its_group(disturbed: Run) -> None:
    assert observations(disturbed, "reader-frozen").keys() == {"ProcessStopped"}


def test_evict_pod_second_eviction_is_refused_by_the_budget(disturbed: Run) -> None:
    assert "PodDeleted" in observations(disturbed, "evicted")
    [refusal] = observations(disturbed, "refused")["EvictionRefused"]
    assert refusal["subject"] == "disturbed-kafka-2-0"
    assert "needs 2 healthy pods and has 2 currently" in refusal["detail"]
    details = [e["detail"] for e in disturbed.timeline("fault") if e["subject"] == "refused"]
    kinds = {item["kind"] for detail in details for item in detail.get("observations", ())}
    assert kinds == {"EvictionRefused"}


def test_elect_preferred_leaders_first_replicas_lead(disturbed: Run) -> None:
    subjects = {
        item["subject"] for item in observations(disturbed, "elected")["PreferredLeaderElected"]
    }
    assert subjects == {"foo-0", "foo-1"}


def test_lose_disk_replica_is_restored_and_nothing_is_lost(emptied: Run) -> None:
    assert_sound(emptied)
    assert emptied.status["ledger"]["lost"] == 0
    kinds = observations(emptied, "disk")
    assert {"ProcessKilled", "VolumeGone", "VolumeReplaced", "LeaderMoved"} <= kinds.keys()
    [target] = fault(emptied, "disk")["targets"]
    assert target["claim"] == f"emptied-{target['member']}-data"
    assert target["claimUid"] in kinds["VolumeGone"][0]["detail"]


def test_rolling_restart_one_member_is_down_at_a_time(emptied: Run) -> None:
    entry = fault(emptied, "rolled")
    victims = {item["uid"] for item in entry["targets"]}
    assert len(victims) == 3
    assert {item["subject"] for item in observations(emptied, "rolled")["PodDeleted"]} == {
        f"emptied-kafka-{ordinal}-0" for ordinal in range(3)
    }
    begin, end = when(entry["injectedAt"]), when(entry["recoveredAt"])
    registered, down, worst = {"0", "1", "2"}, 0, 0
    for event in emptied.timeline("broker"):
        if not begin <= when_micros(event["at"]) <= end:
            continue
        if event["event"] == "unregistered":
            registered.discard(event["subject"])
        else:
            registered.add(event["subject"])
        down = 3 - len(registered)
        worst = max(worst, down)
    assert worst == 1


def test_reassign_partitions_are_on_the_target_replicas(moved: Run) -> None:
    assert_sound(moved)
    kinds = observations(moved, "move")
    assert "ReassignmentAccepted" in kinds
    assert {item["subject"] for item in kinds["ReplicasMoved"]} == {"foo-0", "foo-1"}
    last = {
        event["subject"]: event["detail"]
        for event in moved.timeline("partition")
        if event["subject"] in {"foo-0", "foo-1"}
    }
    assert {tuple(sorted(state["isr"])) for state in last.values()} == {(0, 2)}
    assert "job.batch/moved-fault-0-1" not in moved.remaining()


def test_freeze_pod_run_deleted_meanwhile_is_removed(kubectl: Kubectl) -> None:
    run = Run.apply(
        kubectl,
        small(
            "frozen-deleted",
            faults=[
                {
                    "name": "frozen",
                    "action": "FreezePod",
                    "target": {"role": "Broker"},
                    "duration": "10m",
                }
            ],
        ),
    )
    run.reach("Injecting")
    wait_until(lambda: fault(run, "frozen")["state"] == "Active", 60, "the broker frozen")
    kubectl("delete", "krt", run.name, "--wait=false")
    wait_until(
        lambda: not run.remaining(), 60, lambda: f"{run.name} deleted; left: {run.remaining()}"
    )


def test_freeze_pod_run_aborted_meanwhile_is_thawed(kubectl: Kubectl) -> None:
    freeze = {
        "name": "frozen",
        "action": "FreezePod",
        "target": {"role": "Broker"},
        "duration": "10m",
    }
    run = Run.apply(kubectl, small("frozen-aborted", faults=[freeze], cleanup="Retain"))
    run.reach("Injecting")
    wait_until(lambda: fault(run, "frozen")["state"] == "Active", 60, "the broker frozen")
    kubectl("patch", "krt", run.name, "--type=merge", "-p", '{"spec":{"abort":true}}')
    status = run.finish(120)
    assert (status["phase"], status["faults"][0]["state"]) == ("Aborted", "Reverted")
    pod = kubectl.get("pod", "frozen-aborted-kafka-0-0")
    ended = {
        item["name"]: item["state"].get("terminated", {}).get("message", "")
        for item in pod["status"]["ephemeralContainerStatuses"]
    }
    assert '"thawed"' in ended["krt-thaw-frozen-now"]


def test_faults_that_collide_end_the_run_before_traffic(kubectl: Kubectl) -> None:
    crash = {
        "action": "CrashPod",
        "target": {"role": "Broker", "ordinals": [0]},
        "duration": "20s",
    }
    second = {"name": "b", "startsAfter": {"event": "Started"}} | crash
    run = Run.apply(kubectl, small("colliding", faults=[{"name": "a"} | crash, second]))
    status = run.finish(120)
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    assert run.condition("Provisioned")["reason"] == "FaultsCollide"
    assert (
        "spec.faults[b] targets kafka-0 while a is open on it"
        in run.condition("Provisioned")["message"]
    )
    assert run.remaining() == []
