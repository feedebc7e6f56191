"""Traffic pods and members that disappear or fail while a run is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pytest
    from tests.unit.operator.doubles.world import World

BROKER = "t-kafka-1-0"
RECORDER = "t-recorder"


def _codes(world: World) -> list[str]:
    return [one["code"] for one in world.status["inconclusiveReasons"]]


def test_keepalive_with_missing_pod_reports_and_replaces_it(world: World) -> None:
    world.run(until="Injecting")
    world.run(until="Draining", seconds=0)
    world.test["status"]["phase"] = "Warmup"
    world.test["status"]["phases"] = [
        one for one in world.test["status"]["phases"] if one["name"] != "Injecting"
    ]
    before = world.objects.pop(("Pod", "t-producer-a-0"))
    world.run(seconds=4)
    assert _codes(world) == ["TrafficPodLost"]
    assert world.objects["Pod", "t-producer-a-0"]["metadata"]["uid"] != before["metadata"]["uid"]


def broker_left_lying(make_world: Callable[..., World]) -> tuple[Any, Any, str]:
    """A run at work, a broker of which came back and was refused by the scheduler; with its uid."""
    world = make_world(warmup="60s")
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    del world.objects["Pod", BROKER]
    world.tick(0.01)
    uid = world.objects["Pod", BROKER]["metadata"]["uid"]
    world.unschedulable = {uid}
    world.run(seconds=15, controller=engine)
    assert world.objects["Pod", BROKER]["metadata"]["uid"] == uid
    return world, engine, uid


def message_of_replacement(world: World, pod: str, uid: str, reason: str) -> str:
    """Check that the pod was replaced by one that runs, and return what its one event says."""
    again = world.objects["Pod", pod]
    assert again["metadata"]["uid"] != uid
    assert again["status"]["phase"] == "Running"
    (event,) = [one for one in world.events if one["reason"] == reason]
    assert pod in event["message"]
    return str(event["message"])


def test_stuck_pods_with_unschedulable_broker_replaces_it(
    make_world: Callable[..., World],
) -> None:
    world, engine, uid = broker_left_lying(make_world)
    world.run(seconds=15, controller=engine)
    assert "no node" in message_of_replacement(world, BROKER, uid, "MemberUnscheduled")
    assert world.run(controller=engine)["verdict"] == "Passed"


def test_stuck_pods_with_target_of_a_fault_leaves_it(
    make_world: Callable[..., World],
) -> None:
    world, engine, uid = broker_left_lying(make_world)
    target = {"pod": BROKER, "uid": uid, "member": "kafka-1"}
    world.test["status"]["faults"] = [{"name": "f", "state": "Scheduled", "targets": [target]}]
    world.run(seconds=15, controller=engine)
    assert world.objects["Pod", BROKER]["metadata"]["uid"] == uid


def test_stuck_pods_during_provisioning_leaves_them(world: World) -> None:
    engine = world.controller()
    while ("Pod", BROKER) not in world.objects:
        world.tick(engine.run_once("t") or 0.01)
    uid = world.objects["Pod", BROKER]["metadata"]["uid"]
    world.unschedulable = {uid}
    world.run(seconds=60, controller=engine)
    assert world.status["phase"] == "Provisioning"
    assert world.objects["Pod", BROKER]["metadata"]["uid"] == uid


def test_keepalive_after_fatal_kafka_error_replaces_the_pod(world: World) -> None:
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    world.run(seconds=4, controller=engine)
    uid = world.objects["Pod", "t-producer-a-0"]["metadata"]["uid"]
    world.end("t-producer-a-0", 3, '{"reason": "fatal"}')
    world.run(seconds=1, controller=engine)
    assert world.objects["Pod", "t-producer-a-0"]["metadata"]["uid"] != uid
    assert world.run()["inconclusiveReasons"] == []


def test_keepalive_after_defect_reports_the_last_line(world: World) -> None:
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    world.run(seconds=4, controller=engine)
    world.end("t-consumer-c-0", 1, "Traceback\n  File ...\nValueError: what it was\n")
    world.run(controller=engine)
    assert _codes(world) == ["TrafficPodLost"]
    assert (
        "exit code 1: ValueError: what it was" in world.status["inconclusiveReasons"][0]["message"]
    )


def run_at_work(world: World) -> tuple[Any, str]:
    """A run in its warm-up; with the uid of its recorder."""
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    world.run(seconds=2, controller=engine)
    return engine, world.objects["Pod", RECORDER]["metadata"]["uid"]


def test_keepalive_with_evicted_recorder_replaces_it(world: World) -> None:
    engine, uid = run_at_work(world)
    why = "The node was low on resource: memory."
    world.end(RECORDER, 137)
    world.objects["Pod", RECORDER]["status"] |= {"reason": "Evicted", "message": why}
    world.run(seconds=4, controller=engine)
    message = message_of_replacement(world, RECORDER, uid, "RecorderReplaced")
    assert f"ended with exit code 137: no message ({why})" in message
    assert world.run(controller=engine)["verdict"] == "Passed"


def test_keepalive_with_recorder_that_ended_too_early_replaces_it(world: World) -> None:
    engine, uid = run_at_work(world)
    world.end(RECORDER, 0, "stopped")
    world.run(seconds=4, controller=engine)
    assert world.objects["Pod", RECORDER]["metadata"]["uid"] != uid
    (event,) = [one for one in world.events if one["reason"] == "RecorderReplaced"]
    assert "exit code 0" in event["message"]


def test_keepalive_with_ended_recorder_that_is_being_deleted_waits(world: World) -> None:
    engine, uid = run_at_work(world)
    world.end(RECORDER, 0, "stopped")
    world.objects["Pod", RECORDER]["metadata"]["deletionTimestamp"] = "2026-11-21T04:00:00Z"
    world.run(seconds=4, controller=engine)
    assert world.objects["Pod", RECORDER]["metadata"]["uid"] == uid


def test_keepalive_with_outdated_control_leaves_the_recorder_that_is_done(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(evidence={"compareReplicas": True})
    engine = world.controller()
    world.run(until="DumpingReplicas", controller=engine)
    uid = world.objects["Pod", RECORDER]["metadata"]["uid"]
    select = world.select

    def outdated(kind: str, labels: Mapping[str, str] | None = None) -> Sequence[Any]:
        return [
            obj | {"data": obj["data"] | {"state": "Drain"}}
            if obj["metadata"]["name"] == "t-control"
            else obj
            for obj in select(kind, labels)
        ]

    monkeypatch.setattr(world, "select", outdated)
    engine.run_once("t")
    assert world.objects["Pod", RECORDER]["metadata"]["uid"] == uid
