"""The dump of the replicas: asked for, waited for, given up, taken away."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World

JOBS = {f"t-dump-kafka-{number}" for number in range(3)}
COMPARED = {"evidence": {"compareReplicas": True}}


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A world whose test compares its replicas."""
    return make_world(**COMPARED)


def dumps(world: World) -> set[str]:
    return {name for name in world.names_of("Job") if "-dump-" in name}


def codes(world: World) -> list[tuple[str, str]]:
    return [(one["code"], one["kind"]) for one in world.status["inconclusiveReasons"]]


def test_dump_not_requested_is_left_out(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.run()
    assert "DumpingReplicas" not in world.phases()
    assert all(one["type"] != "ReplicasDumped" for one in world.status["conditions"])


def test_dump_requested_covers_every_broker_before_scoring(world: World) -> None:
    world.run(until="DumpingReplicas")
    assert dumps(world) == set()
    assert world.condition("Drained")["status"] == "True"
    engine = world.controller()
    engine.run_once("t")
    assert dumps(world) == JOBS
    assert all(f"t-kafka-{number}" in world.names_of("StatefulSet") for number in range(3))
    world.run(until="Scoring")
    dumped = world.condition("ReplicasDumped")
    assert (dumped["status"], dumped["reason"]) == ("True", "Dumped")
    assert dumped["message"] == "30 offsets of 6 replicas on 3 brokers are in the evidence"
    way = world.phases()
    assert way[way.index("Draining") :] == ["Draining", "DumpingReplicas", "Scoring"]
    status = world.run()
    assert (status["verdict"], status["inconclusiveReasons"]) == ("Passed", [])
    assert dumps(world) == set()
    records = {one["name"]: one for one in status["phases"]}
    assert records["Draining"]["endTime"] == records["DumpingReplicas"]["startTime"]
    assert records["DumpingReplicas"]["endTime"] == records["Scoring"]["startTime"]


def test_dump_pod_runs_on_the_broker_node_without_its_traffic(world: World) -> None:
    world.run(until="DumpingReplicas")
    world.controller().run_once("t")
    template = world.objects["Job", "t-dump-kafka-1"]["spec"]["template"]
    affinity = template["spec"]["affinity"]["podAffinity"]
    (beside,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    chosen = beside["labelSelector"]["matchLabels"].items()
    pods = [one for one in world.list("Pod") if chosen <= one["metadata"]["labels"].items()]
    assert [one["metadata"]["name"] for one in pods] == ["t-kafka-1-0"]
    service = world.objects["Service", "t-kafka-1"]["spec"]["selector"]
    assert not service.items() <= template["metadata"]["labels"].items()
    mounts = {one["name"]: one for one in template["spec"]["containers"][1]["volumeMounts"]}
    assert mounts["data"]["readOnly"] is True


def test_dump_incomplete_is_reported_and_scored(world: World) -> None:
    dumped = {
        "counts": {"replicas": 2, "rows": 9, "problems": 1},
        "error": "foo-0: 5 bytes are odd",
    }
    world.dumped = (0, json.dumps(dumped))
    status = world.run()
    assert codes(world) == [("ReplicasNotDumped", "coverage")] * 3
    message = status["inconclusiveReasons"][0]["message"]
    assert message.startswith("kafka-0: foo-0: 5 bytes are odd; look at")
    assert world.condition("ReplicasDumped")["status"] == "False"
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed")


def test_dump_with_failed_container_ends_the_wait(world: World) -> None:
    world.run(until="DumpingReplicas")
    engine = world.controller()
    engine.run_once("t")
    world.stuck = {f"{name}-x" for name in JOBS}
    world.tick(3)
    for name in JOBS:
        dead = {"exitCode": 137, "reason": "OOMKilled"}
        statuses = [
            {"name": "writer", "state": {"running": {}}},
            {"name": "dump", "state": {"terminated": dead}},
        ]
        world.objects["Pod", f"{name}-x"]["status"] = {
            "phase": "Running",
            "containerStatuses": statuses,
        }
    engine.run_once("t")
    assert world.status["phase"] == "Scoring"
    assert (
        "kafka-2: its dump exited 137: OOMKilled"
        in world.status["inconclusiveReasons"][2]["message"]
    )
    # The writer would wait for the other end of the pipe until its deadline.
    assert dumps(world) == set()


def test_dump_pod_unschedulable_is_given_up_with_the_reason(
    make_world: Callable[..., World],
) -> None:
    world = make_world(**COMPARED, timeouts={"replicaDump": "40s"})
    world.run(until="DumpingReplicas")
    engine = world.controller()
    engine.run_once("t")
    world.tick(0.1)
    world.stuck = {"t-dump-kafka-1-x"}
    world.objects["Pod", "t-dump-kafka-1-x"]["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "message": "0/6 nodes are available"}
    ]
    begun = world.time
    world.run(until="Scoring", controller=engine)
    assert 70 <= (world.time - begun).total_seconds() <= 75
    ((code, _),) = codes(world)
    assert code == "ReplicasNotDumped"
    message = world.status["inconclusiveReasons"][0]["message"]
    assert message.startswith("kafka-1: not done after 40s; waiting for kafka-1")
    assert "0/6 nodes are available" in message
    assert "20 offsets of 4 replicas" in world.condition("ReplicasDumped")["message"]
    assert "t-dump-kafka-1" not in dumps(world)


def test_dump_job_timed_out_is_reported_with_its_message(world: World) -> None:
    world.run(until="DumpingReplicas")
    engine = world.controller()
    engine.run_once("t")
    world.tick(0.1)
    failed = {"type": "Failed", "status": "True", "message": "Job was active too long"}
    world.objects["Job", "t-dump-kafka-0"]["status"] = {"conditions": [failed]}
    del world.objects["Pod", "t-dump-kafka-0-x"]
    world.run(until="Scoring", controller=engine)
    assert "kafka-0: Job was active too long" in world.status["inconclusiveReasons"][0]["message"]
    assert len(codes(world)) == 1


def test_dump_aborted_leaves_no_job(world: World) -> None:
    world.run(until="DumpingReplicas")
    engine = world.controller()
    engine.run_once("t")
    world.tick(1)
    world.test["spec"]["abort"] = True
    assert world.run(controller=engine)["phase"] == "Aborted"
    world.tick(1)
    assert dumps(world) == set()
    assert world.names_of("Pod") == set()
    assert world.names_of("PersistentVolumeClaim") == {"krt-evidence"}
