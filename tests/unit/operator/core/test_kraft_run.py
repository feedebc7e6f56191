"""Runs in KRaft mode on the API server double: members, readiness, faults, observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from krt_operator.plan import member_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World

KRAFT = {"metadata": {"mode": "KRaft"}, "config": {"broker.session.timeout.ms": "6000"}}


def fault(action: str, role: str, duration: str = "8s", **target: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{action}-{role}".lower(),
        "action": action,
        "target": {"role": role, **target},
    }
    return entry | ({} if action == "RollingRestart" else {"duration": duration})


def kinds(status: dict[str, Any], name: str) -> dict[str, str]:
    """Kind of each observation to its detail, of a fault."""
    (entry,) = [each for each in status["faults"] if each["name"] == name]
    assert entry["verified"], entry
    return {each["kind"]: each["detail"] for each in entry["observations"]}


def test_kraft_run_reports_the_result_of_scoring(make_world: Callable[..., World]) -> None:
    world = make_world(kafka=KRAFT)
    status = world.run(until="Injecting")
    assert world.names_of("StatefulSet") == {
        *(f"t-kafka-{i}" for i in range(3)),
        *(f"t-controller-{i}" for i in range(3)),
    }
    assert world.names_of("PodDisruptionBudget") == {"t-kafka", "t-controller"}
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed")
    assert status["inconclusiveReasons"] == []
    assert world.names_of("StatefulSet") == world.names_of("Service") == set()


def test_kraft_crash_of_a_leader_is_seen_as_fenced_broker(
    make_world: Callable[..., World],
) -> None:
    crash = fault("CrashPod", "PartitionLeader", topic="foo", partition=0)
    status = make_world(kafka=KRAFT, faults=[crash]).run()
    assert status["phase"] == "Completed"
    seen = kinds(status, "crashpod-partitionleader")
    assert seen["BrokerFenced"] == "broker 0 is fenced"
    assert "LeaderMoved" in seen
    assert "SessionExpired" not in seen
    assert status["inconclusiveReasons"] == []


@pytest.mark.parametrize("action", ["CrashPod", "DeletePod", "FreezePod"])
def test_kraft_fault_on_the_controller_hits_the_quorums_leader(
    make_world: Callable[..., World], action: str
) -> None:
    world = make_world(kafka=KRAFT, faults=[fault(action, "Controller")])
    status = world.run()
    assert status["phase"] == "Completed"
    (entry,) = status["faults"]
    assert [target["member"] for target in entry["targets"]] == ["controller-0"]
    seen = kinds(status, entry["name"])
    assert seen["ControllerMoved"] == "node 101 leads the quorum in epoch 2"
    assert entry.get("recoveredAt")
    assert status["inconclusiveReasons"] == []


def test_kraft_rolling_restart_of_controllers_restarts_each(
    make_world: Callable[..., World],
) -> None:
    world = make_world(kafka=KRAFT, faults=[fault("RollingRestart", "ControllerNode")])
    status = world.run()
    assert status["phase"] == "Completed"
    deleted = [name for verb, name in world.injected if verb == "delete"]
    assert deleted == [f"Pod/t-controller-{i}-0" for i in range(3)]
    assert "PodDeleted" in kinds(status, "rollingrestart-controllernode")


def test_kraft_run_waits_until_the_quorum_has_a_leader(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(kafka=KRAFT)
    with monkeypatch.context() as patched:
        patched.setattr(world, "describe_quorum", lambda *_: None)
        world.run(seconds=60)
    assert world.status["phase"] == "Provisioning"
    waiting = world.condition("Provisioned")["message"]
    assert waiting == "waiting for the KRaft controllers to elect a leader"
    assert world.run()["phase"] == "Completed"


def test_kraft_fault_does_not_recover_without_quorum(make_world: Callable[..., World]) -> None:
    two = fault("CrashPod", "ControllerNode", ordinals=[0, 1])
    world = make_world(kafka=KRAFT, faults=[two])
    world.run(until="Injecting")
    lost = []
    while world.status["phase"] == "Injecting":
        entry = world.status["faults"][0] if world.status.get("faults") else {}
        running = len(world.serving("controller"))
        if running < 2 and entry.get("state") == "Active":
            lost.append(entry)
        world.run(seconds=1)
    assert lost
    assert all(not entry.get("recoveredAt") for entry in lost)
    (entry,) = world.run()["faults"]
    assert entry["recoveredAt"] > entry["revertedAt"]


def test_kraft_run_gives_controllers_the_brokers_min_insync_replicas(
    make_world: Callable[..., World],
) -> None:
    world = make_world(kafka=KRAFT | {"config": {"min.insync.replicas": "2"}})
    world.run(until="Warmup")
    assert world.status["phase"] == "Warmup"


def test_kraft_run_with_another_effective_min_insync_replicas_ends(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member_config, "ACTED_ON_BY_CONTROLLERS", ())
    world = make_world(kafka=KRAFT | {"config": {"min.insync.replicas": "2"}})
    assert world.run()["phase"] == "Error"
    condition = world.condition("Provisioned")
    assert condition["reason"] == "SettingNotEffective"
    assert "topic foo was given min.insync.replicas 2 and Kafka reports 1" in condition["message"]
