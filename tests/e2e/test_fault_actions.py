"""Every action on pods, volumes and partitions, on real nodes: what it does, and its proof."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from kit.run import Run, small
from kit.wait import until

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
    found: dict[str, Any] = next(one for one in run.status["faults"] if one["name"] == name)
    return found


def observations(run: Run, name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the fault's observations by kind, once it is proved."""
    entry = fault(run, name)
    assert entry["verified"], entry
    found: dict[str, list[dict[str, Any]]] = {}
    for one in entry["observations"]:
        found.setdefault(one["kind"], []).append(one)
    return found


def when(text: str) -> datetime:
    return datetime.fromisoformat(text)


def assert_sound(run: Run) -> None:
    """No record is lost against the rules, and every fault is proved and recovered from."""
    status = run.status
    assert (status["phase"], status["verdict"]) in {
        ("Completed", "Passed"),
        ("Completed", "Degraded"),
    }, status
    assert not status.get("inconclusiveReasons"), status["inconclusiveReasons"]
    for one in status["faults"]:
        assert one["state"] == "Reverted", one
        assert one["verified"], one
        assert one["recoveredAt"], one


@pytest.fixture(scope="module")
def held(module_kubectl: Kubectl) -> Run:
    """A freeze, evictions of which the budget refuses one, an election."""
    run = Run.apply(
        module_kubectl,
        resource(
            "held",
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
                "to": [2, 0],
            },
        ),
    )
    run.finish(RECOVERED_WITHIN)
    return run


def test_a_frozen_leader_loses_its_session_and_keeps_its_pod(held: Run) -> None:
    assert_sound(held)
    seen = observations(held, "frozen")
    assert {"ProcessStopped", "SessionExpired", "LeaderMoved"} <= seen.keys(), seen.keys()
    entry = fault(held, "frozen")
    lasted = when(entry["revertedAt"]) - when(entry["injectedAt"])
    # By the node's clock: whoever looked late, the process was not thawed late.
    assert timedelta(seconds=12) <= lasted <= timedelta(seconds=13)
    uid, pod = entry["targets"][0]["uid"], entry["targets"][0]["pod"]
    told = [e["event"] for e in held.timeline("member") if e["detail"]["uid"] == uid]
    assert told.index("frozen") < told.index("thawed")
    gone = [e for e in held.timeline("pod") if e["subject"] == pod and e["event"] == "deleted"]
    assert all(when_micros(e["at"]) > when(entry["recoveredAt"]) for e in gone)


def when_micros(at: int) -> datetime:
    return datetime.fromisoformat("1970-01-01T00:00:00+00:00") + timedelta(microseconds=at)


def test_a_consumer_frozen_for_less_than_its_session_stays_in_its_group(held: Run) -> None:
    assert observations(held, "reader-frozen").keys() == {"ProcessStopped"}


def test_the_budget_allows_one_eviction_and_refuses_the_next(held: Run) -> None:
    assert "PodDeleted" in observations(held, "evicted")
    [refusal] = observations(held, "refused")["EvictionRefused"]
    assert refusal["subject"] == "held-kafka-2-0"
    assert "needs 2 healthy pods and has 2 currently" in refusal["detail"]
    said = [e["detail"] for e in held.timeline("fault") if e["subject"] == "refused"]
    kinds = {proof["kind"] for detail in said for proof in detail.get("observations", ())}
    assert kinds == {"EvictionRefused"}


def test_leaders_are_the_first_replicas_again(held: Run) -> None:
    subjects = {one["subject"] for one in observations(held, "elected")["PreferredLeaderElected"]}
    assert subjects == {"foo-0", "foo-1"}


def test_a_lost_disk_is_filled_again_and_loses_nothing(emptied: Run) -> None:
    assert_sound(emptied)
    assert emptied.status["ledger"]["lost"] == 0
    seen = observations(emptied, "disk")
    assert {"ProcessKilled", "VolumeGone", "VolumeReplaced", "LeaderMoved"} <= seen.keys()
    [target] = fault(emptied, "disk")["targets"]
    assert target["expectation"] == f"emptied-{target['member']}-data"
    assert target["claimUid"] in seen["VolumeGone"][0]["detail"]


def test_members_restart_in_turn_and_never_two(emptied: Run) -> None:
    entry = fault(emptied, "rolled")
    victims = {one["uid"] for one in entry["targets"]}
    assert len(victims) == 3
    assert {one["subject"] for one in observations(emptied, "rolled")["PodDeleted"]} == {
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


def test_partitions_lie_where_they_were_sent(moved: Run) -> None:
    assert_sound(moved)
    seen = observations(moved, "move")
    assert "ReassignmentAccepted" in seen
    assert {one["subject"] for one in seen["ReplicasMoved"]} == {"foo-0", "foo-1"}
    last = {
        event["subject"]: event["detail"]
        for event in moved.timeline("partition")
        if event["subject"] in {"foo-0", "foo-1"}
    }
    assert {tuple(sorted(state["isr"])) for state in last.values()} == {(0, 2)}
    assert "job.batch/moved-fault-0-1" not in moved.left()


def test_what_is_frozen_when_a_test_is_deleted_does_not_keep_it(kubectl: Kubectl) -> None:
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
    until(lambda: fault(run, "frozen")["state"] == "Active", 60, "the broker frozen")
    kubectl("delete", "krt", run.name, "--wait=false")
    until(lambda: not run.left(), 60, lambda: f"{run.name} gone; left: {run.left()}")


def test_what_is_frozen_when_a_test_is_aborted_is_thawed(kubectl: Kubectl) -> None:
    freeze = {
        "name": "frozen",
        "action": "FreezePod",
        "target": {"role": "Broker"},
        "duration": "10m",
    }
    run = Run.apply(kubectl, small("frozen-aborted", faults=[freeze], cleanup="Retain"))
    run.reach("Injecting")
    until(lambda: fault(run, "frozen")["state"] == "Active", 60, "the broker frozen")
    kubectl("patch", "krt", run.name, "--type=merge", "-p", '{"spec":{"abort":true}}')
    status = run.finish(120)
    assert (status["phase"], status["faults"][0]["state"]) == ("Aborted", "Reverted")
    pod = kubectl.get("pod", "frozen-aborted-kafka-0-0")
    ended = {
        one["name"]: one["state"].get("terminated", {}).get("message", "")
        for one in pod["status"]["ephemeralContainerStatuses"]
    }
    assert '"thawed"' in ended["krt-thaw-frozen-now"]


def test_faults_that_collide_end_the_test_before_traffic(kubectl: Kubectl) -> None:
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
    assert "spec.faults[b] hits kafka-0" in run.condition("Provisioned")["message"]
    assert run.left() == []
