"""What goes wrong while a run is at work: said in guards and conditions, never passed over."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


BROKER = "t-kafka-1-0"
READER = "t-consumer-c-0"


def _codes(world: Any) -> list[str]:
    return [one["code"] for one in world.status["inconclusiveReasons"]]


def test_pod_gone_without_a_reason_is_vanished_and_comes_back(world: Any) -> None:
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


def broker_left_lying(make_world: Callable[..., Any]) -> tuple[Any, Any, str]:
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


def test_a_broker_that_the_scheduler_leaves_lying_is_made_anew(
    make_world: Callable[..., Any],
) -> None:
    world, engine, uid = broker_left_lying(make_world)
    world.run(seconds=15, controller=engine)
    again = world.objects["Pod", BROKER]
    assert again["metadata"]["uid"] != uid
    assert again["status"]["phase"] == "Running"
    (told,) = [one for one in world.events if one["reason"] == "MemberUnscheduled"]
    assert BROKER in told["message"]
    assert "no node" in told["message"]
    assert world.run(controller=engine)["verdict"] == "Passed"


def test_an_unscheduled_broker_that_a_fault_means_is_left_to_the_fault(
    make_world: Callable[..., Any],
) -> None:
    world, engine, uid = broker_left_lying(make_world)
    target = {"pod": BROKER, "uid": uid, "member": "kafka-1"}
    world.test["status"]["faults"] = [{"name": "f", "state": "Scheduled", "targets": [target]}]
    world.run(seconds=15, controller=engine)
    assert world.objects["Pod", BROKER]["metadata"]["uid"] == uid


def test_a_broker_that_never_had_a_node_is_left_as_it_is(world: Any) -> None:
    engine = world.controller()
    while ("Pod", BROKER) not in world.objects:
        world.tick(engine.run_once("t") or 0.01)
    uid = world.objects["Pod", BROKER]["metadata"]["uid"]
    world.unschedulable = {uid}
    world.run(seconds=60, controller=engine)
    assert world.status["phase"] == "Provisioning"
    assert world.objects["Pod", BROKER]["metadata"]["uid"] == uid


def test_fatal_kafka_error_is_followed_by_another_incarnation(world: Any) -> None:
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    world.run(seconds=4, controller=engine)
    uid = world.objects["Pod", "t-producer-a-0"]["metadata"]["uid"]
    world.end("t-producer-a-0", 3, '{"reason": "fatal"}')
    world.run(seconds=1, controller=engine)
    assert world.objects["Pod", "t-producer-a-0"]["metadata"]["uid"] != uid
    assert world.run()["inconclusiveReasons"] == []


def test_defect_of_a_traffic_pod_is_told_with_its_last_words(world: Any) -> None:
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    world.run(seconds=4, controller=engine)
    world.end("t-consumer-c-0", 1, "Traceback\n  File ...\nValueError: what it was\n")
    world.run(controller=engine)
    assert _codes(world) == ["TrafficPodLost"]
    assert (
        "exit code 1: ValueError: what it was" in world.status["inconclusiveReasons"][0]["message"]
    )


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


def told_the_end(world: Any) -> tuple[Any, str]:
    """A run whose readers have been told the end, one of them at work; with that one's uid."""
    world.run(until="Draining")
    world.stuck = {READER}
    engine = world.controller()
    while world.control() != "Drain":
        world.tick(engine.run_once("t") or 0.01)
    return engine, world.objects["Pod", READER]["metadata"]["uid"]


def test_a_reader_that_gave_up_before_the_end_is_not_told_as_drained(world: Any) -> None:
    engine, uid = told_the_end(world)
    world.end(READER, 4, '{"reason":"behind"}')
    begun = world.time
    world.run(until="Scoring", controller=engine)
    drained = world.condition("Drained")
    assert (drained["status"], drained["reason"]) == ("False", "DrainTimedOut")
    assert READER in drained["message"]
    assert _codes(world) == ["NotDrained"]
    # It had its time: nobody takes its place, and nobody waits for it.
    assert world.objects["Pod", READER]["metadata"]["uid"] == uid
    assert world.time - begun < timedelta(seconds=30)
    assert world.run(controller=engine)["phase"] == "Completed"


def test_a_reader_that_ends_on_a_fatal_error_has_a_successor_that_reaches_the_end(
    world: Any,
) -> None:
    engine, uid = told_the_end(world)
    world.end(READER, 3, '{"reason":"fatal"}')
    world.stuck = set()
    world.run(until="Scoring", controller=engine)
    assert world.condition("Drained")["reason"] == "ConsumersCaughtUp"
    successor = world.objects["Pod", READER]
    assert successor["metadata"]["uid"] != uid
    assert successor["status"]["phase"] == "Succeeded"
    assert _codes(world) == []


def test_a_reader_that_is_given_up_writes_its_ledger_before_it_is_scored(world: Any) -> None:
    engine, _ = told_the_end(world)
    delete, leaving = world.delete, []

    def slowly(deletion: Any) -> bool:
        if deletion.name != READER:
            return bool(delete(deletion))
        leaving.append(world.time)
        world.objects["Pod", READER]["metadata"]["deletionTimestamp"] = world.time.isoformat()
        return True

    world.delete = slowly
    while world.status["phase"] != "Scoring":
        world.tick(engine.run_once("t") or 0.01)
        if leaving and world.time > leaving[0] + timedelta(seconds=10):
            world.objects.pop(("Pod", READER), None)
    assert leaving
    assert ("Pod", READER) not in world.objects


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
