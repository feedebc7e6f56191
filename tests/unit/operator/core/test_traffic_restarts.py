"""Producers and consumers that cannot start, or end again and again."""

from __future__ import annotations

import itertools
import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World

PRODUCER, CONSUMER = "t-producer-a-0", "t-consumer-c-0"
REFUSED = json.dumps(
    {
        "kind": "producer",
        "reason": "unusable",
        "counts": {},
        "error": "the Kafka client refuses spec.traffic.producers[a].config: No such "
        'configuration property: "x"; correct it or leave it out',
        "field": "spec.traffic.producers[a].config",
    }
)


def events(world: World, reason: str) -> list[Any]:
    return [one for one in world.events if one["reason"] == reason]


def incarnations(world: World, engine: Any, pod: str, seconds: float) -> list[float]:
    """When new pods of this name were created, in seconds from now."""
    start, found, known = world.time, [], ""
    while (world.time - start).total_seconds() < seconds:
        uid = world.objects.get(("Pod", pod), {}).get("metadata", {}).get("uid", "")
        if uid and uid != known:
            known = uid
            found.append((world.time - start).total_seconds())
        world.tick(engine.run_once("t") or 0.01)
    return found


def test_preflight_with_refused_client_setting_ends_the_run_before_anything_is_built(
    world: World,
) -> None:
    engine = world.controller()
    world.fail_preflight(engine, 2, REFUSED)
    containers = world.objects["Pod", "t-preflight-read"]["spec"]["initContainers"]
    assert [one["name"] for one in containers] == ["image", "clients"]
    assert containers[1]["args"] == ["python3", "-m", "krt_traffic", "preflight"]
    status = world.run(controller=engine)
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    condition = world.condition("Provisioned")
    assert (condition["status"], condition["reason"]) == ("False", "ClientSettingsRefused")
    assert condition["message"].startswith("spec.traffic.producers[a].config: the Kafka client")
    assert "No such configuration property" in status["summary"]
    assert "StatefulSet" not in {kind for kind, _ in world.objects}


def test_preflight_with_traffic_image_that_fails_names_the_image(world: World) -> None:
    engine = world.controller()
    world.fail_preflight(engine, 1, "No module named krt_traffic")
    world.run(controller=engine)
    condition = world.condition("Provisioned")
    assert condition["reason"] == "TrafficImageUnusable"
    assert "No module named krt_traffic" in condition["message"]


def test_warmup_with_client_that_cannot_start_ends_the_run_at_once(world: World) -> None:
    world.dying = {PRODUCER: (2, REFUSED)}
    world.run(until="Warmup")
    start = world.time
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    condition = world.condition("TrafficEstablished")
    assert (condition["status"], condition["reason"]) == ("False", "ClientCannotStart")
    assert condition["message"].startswith("spec.traffic.producers[a].config: t-producer-a-0 ended")
    assert "No such configuration property" in status["summary"]
    ended = next(one for one in status["phases"] if one["name"] == "CleaningUp")["startTime"]
    assert datetime.fromisoformat(ended) - start < timedelta(seconds=10)


def test_warmup_with_client_that_keeps_failing_backs_off_and_says_why(
    make_world: Callable[..., World],
) -> None:
    world = make_world(timeouts={"warmup": "3m"})
    failure = "Traceback\n  File ...\nRuntimeError: no threads\n"
    world.dying = {PRODUCER: (1, failure)}
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    starts = incarnations(world, engine, PRODUCER, 115)
    assert len(starts) <= 7, starts
    gaps = [after - before for before, after in itertools.pairwise(starts)]
    assert all(after >= before - 1 for before, after in itertools.pairwise(gaps)), gaps
    assert gaps[0] < 6, "the first restart is immediate"
    assert gaps[-1] >= 20
    assert len(events(world, "TrafficPodLost")) == 1
    (reason,) = world.status["inconclusiveReasons"]
    assert "exit code 1: RuntimeError: no threads" in reason["message"]
    condition = world.condition("TrafficEstablished")
    assert condition["message"].startswith("waiting for t-producer-a-0; t-producer-a-0 was lost")
    assert "RuntimeError: no threads" in condition["message"]
    status = world.run(controller=engine)
    assert "RuntimeError: no threads" in status["summary"]


def test_keepalive_with_pod_that_ran_long_restarts_it_at_once_again(
    make_world: Callable[..., World],
) -> None:
    world = make_world(warmup="10m", timeouts={"warmup": "10m"})
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    for _ in range(3):
        world.run(seconds=70, controller=engine)
        uid = world.objects["Pod", PRODUCER]["metadata"]["uid"]
        world.end(PRODUCER, 3, '{"reason": "fatal"}')
        world.run(seconds=1.5, controller=engine)
        pod = world.objects["Pod", PRODUCER]["metadata"]
        assert pod["uid"] != uid
        assert pod["annotations"]["kafkaresilience.dev/restarts"] == "1"


def test_keepalive_after_a_fault_restarts_the_pod_at_once_each_time(
    make_world: Callable[..., World],
) -> None:
    world = make_world(warmup="10m", timeouts={"warmup": "10m"})
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    world.run(seconds=4, controller=engine)
    for _ in range(4):
        uid = world.objects["Pod", PRODUCER]["metadata"]["uid"]
        target = {"pod": PRODUCER, "uid": uid, "member": "producer-a-0"}
        world.test["status"]["faults"] = [{"name": "f", "state": "Reverted", "targets": [target]}]
        world.end(PRODUCER, 137)
        world.run(seconds=1.5, controller=engine)
        pod = world.objects["Pod", PRODUCER]["metadata"]
        assert pod["uid"] != uid
        assert "kafkaresilience.dev/restarts" not in pod["annotations"]
        world.run(seconds=3, controller=engine)
    assert world.status["inconclusiveReasons"] == []


@pytest.mark.parametrize("pod", [PRODUCER, CONSUMER])
def test_keepalive_after_the_warmup_does_not_restart_a_pod_that_cannot_start(
    make_world: Callable[..., World], pod: str
) -> None:
    crash = {
        "name": "f",
        "action": "CrashPod",
        "target": {"role": "Broker", "ordinals": [1]},
        "duration": "20s",
        "delay": "60s",
    }
    world = make_world(faults=[crash])
    engine = world.controller()
    world.run(until="Injecting", controller=engine)
    uid = world.objects["Pod", pod]["metadata"]["uid"]
    world.end(pod, 2, json.dumps({"reason": "unusable", "error": "the plan cannot be read"}))
    world.run(until="Draining", controller=engine)
    assert world.objects["Pod", pod]["metadata"]["uid"] == uid
    (reason,) = [
        one for one in world.status["inconclusiveReasons"] if one["code"] == "TrafficPodLost"
    ]
    assert "exit code 2: the plan cannot be read; it is not started again" in reason["message"]
    assert len(events(world, "TrafficPodLost")) == 1
    status = world.run(controller=engine)
    assert status["phase"] == "Completed"
    codes = {one["code"] for one in status["inconclusiveReasons"]}
    assert ("NotDrained" in codes) is (pod == CONSUMER)


def test_draining_with_a_full_list_of_reasons_still_ends(make_world: Callable[..., World]) -> None:
    """A consumer with an output that never ends is given up once, by a reason that is kept."""
    traffic = {
        "producers": [{"name": "a", "topic": "foo", "recordsPerSecond": 100}],
        "consumers": [
            {
                "name": "c",
                "topics": ["foo"],
                "group": "g",
                "commit": "Transactional",
                "output": {"topic": "bar"},
            }
        ],
    }
    topics = [{"name": name, "partitions": 2, "replicationFactor": 3} for name in ("foo", "bar")]
    world = make_world(traffic=traffic, topics=topics, timeouts={"drain": "20s"})
    engine = world.controller()
    world.run(until="Draining", controller=engine)
    world.test["status"]["inconclusiveReasons"] = [
        {
            "code": "TrafficPodLost",
            "kind": "coverage",
            "message": f"pod {number}",
            "at": world.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        for number in range(64)
    ]
    world.stuck = {CONSUMER}
    status = world.run(controller=engine)
    assert status["phase"] == "Completed"
    assert "NotDrained" in {one["code"] for one in status["inconclusiveReasons"]}
