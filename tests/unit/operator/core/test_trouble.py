"""What goes wrong while a run is at work: said in guards and conditions, never passed over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def _codes(world: Any) -> list[str]:
    return [one["code"] for one in world.status["guards"]]


def test_pod_gone_without_a_reason_is_vanished_and_comes_back(world: Any) -> None:
    world.run(until="Injecting")
    world.run(until="Draining", seconds=0)
    world.test["status"]["phase"] = "Warmup"
    world.test["status"]["phases"] = [
        one for one in world.test["status"]["phases"] if one["name"] != "Injecting"
    ]
    before = world.objects.pop(("Pod", "t-producer-a-0"))
    world.run(seconds=4)
    assert _codes(world) == ["TrafficVanished"]
    assert world.objects["Pod", "t-producer-a-0"]["metadata"]["uid"] != before["metadata"]["uid"]


def test_fatal_kafka_error_is_followed_by_another_incarnation(world: Any) -> None:
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    world.run(seconds=4, controller=engine)
    uid = world.objects["Pod", "t-producer-a-0"]["metadata"]["uid"]
    world.end("t-producer-a-0", 3, '{"reason": "fatal"}')
    world.run(seconds=1, controller=engine)
    assert world.objects["Pod", "t-producer-a-0"]["metadata"]["uid"] != uid
    assert world.run()["guards"] == []


def test_defect_of_a_traffic_pod_is_told_with_its_last_words(world: Any) -> None:
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    world.run(seconds=4, controller=engine)
    world.end("t-consumer-c-0", 1, "Traceback\n  File ...\nValueError: what it was\n")
    world.run(controller=engine)
    assert _codes(world) == ["TrafficVanished"]
    assert "exit code 1: ValueError: what it was" in world.status["guards"][0]["message"]


def test_log_that_does_not_settle(make_world: Callable[..., Any]) -> None:
    world = make_world(timeouts={"drain": "10s"})
    world.run(until="Draining")
    world.restless_log = True
    world.run()
    assert "LogNotStable" in _codes(world)
    bounds = json.loads(world.objects["ConfigMap", "t-control"]["data"]["bounds"])
    assert [one["settled"] for one in bounds] == [False, False]
    assert world.status["phase"] == "Completed"


def test_settled_bounds_are_read_twice_apart(world: Any) -> None:
    world.run(until="Scoring")
    bounds = json.loads(world.objects["ConfigMap", "t-control"]["data"]["bounds"])
    ends = json.loads(world.objects["ConfigMap", "t-control"]["data"]["endOffsets"])
    assert all(one["settled"] for one in bounds)
    assert ends == {"foo": {"0": int(world.written), "1": int(world.written)}}


def test_consumers_that_never_reach_the_end(make_world: Callable[..., Any]) -> None:
    world = make_world(timeouts={"drain": "10s"})
    world.run(until="Draining")
    world.stuck = {"t-consumer-c-0"}
    world.run()
    assert _codes(world) == ["NotDrained"]
    assert world.condition("Drained")["status"] == "False"
    assert world.status["phase"] == "Completed"


def test_executors_that_never_come(world: Any) -> None:
    world.result = (4, "no executor registered within 120 s")
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Completed", "Inconclusive")
    assert _codes(world) == ["ScoringFailed"]
    assert "krt-score" in world.condition("Scored")["message"]
    assert "score" not in status


def test_driver_lost_with_its_node_is_tried_once_more(world: Any) -> None:
    engine = world.controller()
    world.run(until="Scoring", controller=engine)
    world.run(seconds=3, controller=engine)
    del world.objects["Pod", "t-scoring-1-x"]
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
    world.objects["Job", "t-scoring-1"]["status"] = {"conditions": [failed]}
    status = world.run(controller=engine)
    assert (status["verdict"], status["scoringAttempt"]) == ("Passed", 2)


def test_driver_that_never_starts(make_world: Callable[..., Any]) -> None:
    world = make_world(timeouts={"scoring": "30s"})
    world.run(until="Scoring")
    world.stuck = {"t-scoring-1-x"}
    assert world.run()["verdict"] == "Inconclusive"
    assert _codes(world) == ["ScoringFailed"]


def test_kafka_that_does_not_answer_is_waited_for(world: Any) -> None:
    world.run(until="Provisioning")
    world.silent_kafka = True
    world.run(seconds=60)
    assert "waiting for Kafka" in world.condition("Provisioned")["message"]
    world.silent_kafka = False
    assert world.run()["verdict"] == "Passed"


def test_tests_beyond_the_limit_are_queued_in_order(world: Any) -> None:
    for i, phase in enumerate(("Warmup", "Injecting")):
        other = {
            "kind": "KafkaResilienceTest",
            "metadata": {"name": f"o{i}", "uid": f"o{i}"},
            "status": {"phase": phase},
        }
        world.put(other)
    world.run(seconds=20)
    assert world.status["phase"] == "Pending"
    assert world.condition("Provisioned")["reason"] == "Queued"
    world.objects["KafkaResilienceTest", "o0"]["status"]["phase"] = "Completed"
    world.run(seconds=20)
    assert world.status["phase"] != "Pending"
