"""Scoring Jobs that fail."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.unit.operator.doubles.kubelets import RESULT

from krt_operator.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World


MADE = {("apply", "Job"), ("create", "Job")}


def _codes(world: World) -> list[str]:
    return [one["code"] for one in world.status["inconclusiveReasons"]]


def test_scoring_without_executors_is_inconclusive(world: World) -> None:
    world.result = (4, "no executor registered within 120 s")
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Completed", "Inconclusive")
    assert _codes(world) == ["ScoringFailed"]
    assert "copy it with krt evidence t" in world.condition("Scored")["message"]
    assert "score" not in status


def test_scoring_job_starts_with_draining_and_judges_once_the_evidence_is_complete(
    world: World,
) -> None:
    world.run(until="Draining")
    engine = world.controller()
    found: list[tuple[str, str, bool]] = []
    while world.status["phase"] != "CleaningUp":
        world.tick(engine.run_once("t") or 0.01)
        driver = world.objects.get(("Pod", "t-scoring-1-x"), {}).get("status", {}).get("phase")
        seen = (world.status["phase"], world.control(), driver == "Succeeded")
        if driver and seen not in found[-1:]:
            found.append(seen)
    assert found[0] == ("Draining", "StopProducing", False)
    assert [control for _, control, _ in found].index("Score") > 1
    assert {control for _, control, ended in found if ended} == {"Score"}
    assert world.status["scoringAttempt"] == 1


def test_scoring_job_that_is_refused_while_the_log_drains_holds_nothing_up(world: World) -> None:
    world.run(until="Draining")
    refused = RefusedError("no")
    world.answers = lambda verb, kind, _: refused if (verb, kind) in MADE else None
    world.run_on(until="Scoring")
    assert world.names_of("Job") == set()
    world.answers = lambda *_: None
    assert world.run()["verdict"] == "Passed"


def test_scoring_after_an_upgrade_of_a_controller_that_started_no_job_starts_one(
    world: World,
) -> None:
    world.run(until="Scoring")
    del world.test["status"]["scoringAttempt"]
    del world.objects["Job", "t-scoring-1"], world.objects["Pod", "t-scoring-1-x"]
    status = world.run()
    assert (status["verdict"], status["scoringAttempt"]) == ("Passed", 1)


def _lose_driver(world: World) -> None:
    del world.objects["Pod", "t-scoring-1-x"]
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
    world.objects["Job", "t-scoring-1"]["status"] = {"conditions": [failed]}


def test_scoring_with_lost_driver_is_tried_again(world: World) -> None:
    engine = world.controller()
    world.run(until="Scoring", controller=engine)
    world.run(seconds=3, controller=engine)
    _lose_driver(world)
    status = world.run(controller=engine)
    assert (status["verdict"], status["scoringAttempt"]) == ("Passed", 2)


def test_scoring_with_driver_never_started_is_inconclusive(
    make_world: Callable[..., World],
) -> None:
    world = make_world(timeouts={"scoring": "30s"})
    world.run(until="Scoring")
    world.stuck = {"t-scoring-1-x"}
    assert world.run()["verdict"] == "Inconclusive"
    assert _codes(world) == ["ScoringFailed"]


def test_scoring_without_its_config_map_keeps_the_verdict_and_names_the_evidence(
    world: World,
) -> None:
    world.publishes = False
    status = world.run()
    assert (status["phase"], status["verdict"], status["score"]) == ("Completed", "Passed", 98)
    assert status["report"] == {"configMap": "", "path": "ns/t/uid-t"}
    message = world.condition("Scored")["message"]
    assert message.startswith("Passed; ConfigMap t-scorecard is missing")
    assert "copy it with krt report t" in message
    (event,) = [item for item in world.events if item["reason"] == "ScorecardNotPublished"]
    assert event["type"] == "Warning"
    assert _codes(world) == []


def test_scoring_with_driver_killed_after_its_verdict_keeps_the_verdict(world: World) -> None:
    world.publishes = False
    world.result = (137, json.dumps(RESULT))
    status = world.run()
    assert (status["verdict"], status["scoringAttempt"]) == ("Passed", 1)


def test_scoring_with_its_config_map_says_nothing_of_it(world: World) -> None:
    status = world.run()
    assert status["report"]["configMap"] == "t-scorecard"
    assert "ConfigMap" not in world.condition("Scored")["message"]
    assert not [item for item in world.events if item["reason"] == "ScorecardNotPublished"]


def test_cleanup_keeps_scoring_that_has_given_its_result_and_not_ended_yet(world: World) -> None:
    engine = world.controller()
    world.run(until="CleaningUp", controller=engine)
    job = world.objects["Job", "t-scoring-1"]
    job["status"] = {"active": 1}
    for (kind, _), pod in world.objects.items():
        owners = pod["metadata"].get("ownerReferences") or []
        if kind == "Pod" and any(owner["uid"] == job["metadata"]["uid"] for owner in owners):
            pod["status"] = {"phase": "Running"}
    assert world.run(controller=engine)["phase"] == "Completed"
    assert world.objects["Job", "t-scoring-1"]["metadata"]["uid"] == job["metadata"]["uid"]


def test_driver_pod_with_a_large_heap_may_use_more_beyond_it(
    make_world: Callable[..., World],
) -> None:
    world = make_world(scoring={"driver": {"memory": "2Gi"}})
    world.run(until="Scoring")
    (job,) = (obj for (kind, _), obj in world.objects.items() if kind == "Job")
    (driver,) = job["spec"]["template"]["spec"]["containers"]
    assert driver["resources"]["limits"]["memory"] == "2816Mi"


def _seen_while_scoring(world: World) -> tuple[set[str], set[str]]:
    """Names of pods, StatefulSets and claims when scoring began, and before its driver ended."""
    world.run(until="Scoring")
    before = _built(world)
    engine = world.controller()
    while not world.over("t-scoring-1-x"):
        left = _built(world)
        world.tick(engine.run_once("t") or 0.01)
    assert world.status["phase"] == "Scoring"
    return before, left


def _built(world: World) -> set[str]:
    return {
        name
        for kind in ("Pod", "StatefulSet", "PersistentVolumeClaim")
        for name in world.names_of(kind)
        if "scoring" not in name and name != "krt-evidence"
    }


def test_scoring_deletes_members_and_ended_traffic_once_the_topics_are_read(world: World) -> None:
    before, left = _seen_while_scoring(world)
    assert {"t-kafka-0", "t-kafka-0-0", "t-zk-0-0"} < before
    assert left == set()
    assert world.run()["verdict"] == "Passed"


def test_scoring_whose_topics_are_not_read_keeps_the_members(world: World) -> None:
    world.notes_topics_read = False
    before, left = _seen_while_scoring(world)
    assert left == before
    assert world.run()["verdict"] == "Passed"
    assert _built(world) == set()


def test_scoring_of_a_run_that_is_to_be_retained_keeps_the_members(
    make_world: Callable[..., World],
) -> None:
    before, left = _seen_while_scoring(make_world(cleanup="Retain"))
    assert left == before


def test_scoring_keeps_traffic_that_has_not_ended(world: World) -> None:
    world.run(until="Scoring")
    world.objects["Pod", "t-recorder"]["status"] = {"phase": "Running"}
    world.frozen["t-recorder"] = world.time
    _, left = _seen_while_scoring(world)
    assert left == {"t-recorder"}


def test_scoring_tried_again_after_its_members_are_gone_gives_the_verdict(world: World) -> None:
    engine = world.controller()
    world.run(until="Scoring", controller=engine)
    while _built(world):
        world.tick(engine.run_once("t") or 0.01)
    _lose_driver(world)
    status = world.run(controller=engine)
    assert (status["verdict"], status["scoringAttempt"]) == ("Passed", 2)


def test_scoring_whose_members_may_not_be_deleted_goes_on_and_leaves_them_to_the_end(
    world: World,
) -> None:
    world.run(until="Scoring")
    refused = RefusedError("no")
    world.answers = lambda verb, _, name: refused if (verb, name) == ("delete", "t-zk-0") else None
    world.run_on(until="CleaningUp")
    assert not [event for event in world.events if event["type"] == "Warning"]
    assert _built(world) == {"t-zk-0", "t-zk-0-0"}
    status = world.run_on(seconds=300)
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed")
    assert "StatefulSet t-zk-0" in world.condition("Finished")["message"]
