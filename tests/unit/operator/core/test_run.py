"""A run from creation to its end, undisturbed and disturbed, on one API server double."""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from krt_operator.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World

    from krt_operator.engine.progress import Deletion
    from krt_operator.engine.reconcile import Reconciler

WAY = [
    "Pending",
    "Provisioning",
    "Warmup",
    "Injecting",
    "Draining",
    "Scoring",
    "CleaningUp",
    "Completed",
]
STAYS = {
    ("Job", "t-scoring-1"),
    ("Pod", "t-scoring-1-x"),
    ("PersistentVolumeClaim", "krt-evidence"),
}
"""What must be there when all is over, besides plan, control and scripts."""


def test_run_undisturbed_reports_the_result_of_scoring(world: World) -> None:
    status = world.run()
    assert world.phases() == WAY
    assert (status["phase"], status["verdict"], status["score"]) == ("Completed", "Passed", 98)
    assert status["summary"] == "nothing lost"
    assert status["ledger"] == {"acked": 7}
    assert status["report"] == {"configMap": "t-scorecard", "path": "ns/t/uid-t"}
    held = ["Provisioned", "TrafficEstablished", "Drained", "Scored", "Finished", "Succeeded"]
    assert {one: world.condition(one)["status"] for one in held} == dict.fromkeys(held, "True")
    assert world.condition("Succeeded")["reason"] == "Passed"
    assert status["inconclusiveReasons"] == []


def test_run_with_self_test_reports_its_result(make_world: Callable[..., World]) -> None:
    world = make_world()
    scored = json.loads(world.result[1]) | {"selfTest": {"detected": 30, "total": 31}}
    world.result = (0, json.dumps(scored))
    assert world.run()["selfTest"] == {"detected": 30, "total": 31}
    assert "selfTest" not in make_world().run()


def test_run_phases_have_ordered_times(world: World) -> None:
    records = world.run()["phases"]
    for one, after in itertools.pairwise(records):
        assert one["startTime"] <= one["endTime"] == after["startTime"]


def test_cleanup_deletes_pods_before_their_stateful_sets(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = []
    delete = world.delete

    def record(deletion: Deletion) -> None:
        gone.append((deletion.kind, deletion.name, deletion.grace_seconds))
        delete(deletion)

    monkeypatch.setattr(world, "delete", record)
    world.run()
    last = gone[gone.index(("Pod", "t-kafka-0-0", 1)) :]
    kinds = [kind for kind, _, _ in last]
    assert "StatefulSet" in kinds
    assert "Pod" not in kinds[kinds.index("StatefulSet") :]


def test_cleanup_deletes_what_was_built_and_keeps_the_result(world: World) -> None:
    world.run()
    assert world.names_of("StatefulSet") == world.names_of("Service") == set()
    assert world.names_of("PodDisruptionBudget") == set()
    assert world.names_of("PersistentVolumeClaim") == {"krt-evidence"}
    assert world.names_of("Pod") == {"t-scoring-1-x"}
    assert world.names_of("ConfigMap") == {
        "t-plan",
        "t-control",
        "t-scripts",
        "t-scorecard",
    }
    assert world.names_of("ServiceAccount") == {"t-scoring"}


def test_cleanup_with_retain_keeps_members_and_claims(make_world: Callable[..., World]) -> None:
    world = make_world(cleanup="Retain")
    assert world.run()["phase"] == "Completed"
    assert len(world.names_of("StatefulSet")) == 6


def test_run_objects_have_the_test_as_only_owner(world: World) -> None:
    world.run(until="Injecting")
    for (kind, name), obj in world.objects.items():
        owners = obj["metadata"].get("ownerReferences", [])
        if name == "krt-evidence":
            assert not owners
        elif kind != "KafkaResilienceTest":
            assert len(owners) == 1, (kind, name)


def test_run_starts_traffic_with_the_topics(world: World) -> None:
    engine = world.controller()
    while not world.topics:
        assert not any("producer" in one for one in world.names_of("Pod"))
        world.tick(engine.run_once("t") or 0.01)
    pods = world.names_of("Pod")
    assert any("producer" in one for one in pods)
    assert any("consumer" in one for one in pods)
    assert world.condition("Provisioned")["status"] == "Unknown"


def test_run_starts_members_beside_the_preflight(world: World) -> None:
    engine = world.controller()
    while not world.names_of("StatefulSet"):
        world.tick(engine.run_once("t") or 0.01)
    assert {"t-preflight-write", "t-preflight-read"} <= set(world.names_of("Pod"))
    assert "t-recorder" not in world.names_of("Pod")


def test_run_creates_topics_only_once_the_recorder_runs(world: World) -> None:
    world.stuck = {"t-recorder"}
    world.run(until="Provisioning")
    world.run(seconds=60)
    assert len(world.names_of("StatefulSet")) == 6
    assert not world.topics
    world.stuck.clear()
    world.run(until="Warmup")
    assert world.topics


def test_run_with_unchanged_status_writes_nothing(world: World) -> None:
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    world.stuck = {"t-producer-a-0"}
    for _ in range(5):
        engine.run_once("t")
        world.tick(0.1)
    before = world.test["metadata"]["resourceVersion"]
    engine.run_once("t")
    assert world.test["metadata"]["resourceVersion"] == before


def _end(world: World) -> tuple[Any, ...]:
    status = world.status
    conditions = {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
    left = {key for key in world.objects if key[0] != "KafkaResilienceTest"}
    kept = (
        status["phase"],
        status["verdict"],
        status["score"],
        json.dumps(status["inconclusiveReasons"]),
    )
    return (*kept, conditions, world.phases(), left)


def _pass_of(controller: Reconciler) -> None:
    with contextlib.suppress(ConflictError):
        controller.run_once("t")


def test_two_controllers_at_the_same_time_end_like_one(make_world: Callable[..., World]) -> None:
    alone = make_world()
    alone.run()
    world = make_world()
    first, second = world.controller(), world.controller()
    for _ in range(2000):
        # The other one makes a whole pass between this one's reading and its writing.
        world.before_write = lambda: _pass_of(second)
        try:
            delay = first.run_once("t")
        except ConflictError:
            delay = 1.0
        world.before_write = None
        if delay is None:
            break
        world.tick(max(delay, 0.05))
    assert world.conflicts > 10
    assert _end(world) == _end(alone)


@pytest.mark.parametrize("phase", WAY[:6])
def test_abort_in_any_phase_deletes_everything(world: World, phase: str) -> None:
    if phase != "Pending":
        world.run(until=phase)
    world.test["spec"]["abort"] = True
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Aborted", "Inconclusive")
    assert world.condition("Finished")["status"] == "True"
    assert world.condition("Succeeded")["reason"] == "Inconclusive"
    assert world.names_of("StatefulSet") == set()
    begun = phase not in {"Pending", "Provisioning"}
    assert status.get("report", {}).get("path") == ("ns/t/uid-t" if begun else None)
    world.tick(1)
    assert world.names_of("Pod") == set()


FREEZE = {
    "name": "frozen",
    "action": "FreezePod",
    "target": {"role": "Broker", "ordinals": [0]},
    "duration": "10m",
}


@pytest.mark.parametrize("cleanup", ["Retain", "Delete"])
def test_abort_with_frozen_process_continues_it(
    make_world: Callable[..., World], cleanup: str
) -> None:
    world = make_world(faults=[FREEZE], cleanup=cleanup)
    world.run(until="Injecting")
    world.run(seconds=20)
    assert set(world.frozen) == {"t-kafka-0-0"}
    assert world.status["faults"][0]["state"] == "Active"
    world.test["spec"]["abort"] = True
    status = world.run()
    assert (status["phase"], status["faults"][0]["state"]) == ("Aborted", "Reverted")
    kept = set(world.frozen) & world.names_of("Pod")
    assert kept == set()


def test_deletion_of_a_test_needs_no_controller(world: World) -> None:
    engine = world.controller()
    world.run(until="Injecting", controller=engine)
    world.test["metadata"]["deletionTimestamp"] = "2026-11-21T04:00:00Z"
    assert engine.run_once("t") is None
    del world.objects["KafkaResilienceTest", "t"]
    assert engine.run_once("t") is None
    world.tick(1)
    world.tick(1)
    assert {name for _, name in world.objects} == {"krt-evidence"}
