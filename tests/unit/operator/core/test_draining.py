"""Log ends that do not become stable, and consumers that do not reach them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World

    from krt_operator.engine.progress import Deletion

READER = "t-consumer-c-0"


def _codes(world: World) -> list[str]:
    return [one["code"] for one in world.status["inconclusiveReasons"]]


def test_drain_with_unstable_log_is_inconclusive(make_world: Callable[..., World]) -> None:
    world = make_world(timeouts={"drain": "10s"})
    world.run(until="Draining")
    world.restless_log = True
    world.run()
    assert "LogNotStable" in _codes(world)
    bounds = json.loads(world.objects["ConfigMap", "t-control"]["data"]["bounds"])
    assert [one["settled"] for one in bounds] == [False, False]
    assert world.status["phase"] == "Completed"


def never_answered(world: World, engine: Any) -> None:
    """Kafka is silent before the ends were read for the first time."""
    world.run(until="Draining", controller=engine)
    world.silent_kafka = True


def answered_once(world: World, engine: Any) -> None:
    """Kafka is silent once the ends were read for the first time."""
    world.run(until="Draining", controller=engine)
    while "bounds" not in world.objects["ConfigMap", "t-control"]["data"]:
        world.tick(engine.run_once("t") or 0.01)
    world.silent_kafka = True


@pytest.mark.parametrize("silence", [never_answered, answered_once])
def test_drain_with_silent_kafka_says_so_and_gives_readers_their_time(
    make_world: Callable[..., World], silence: Callable[[World, Any], None]
) -> None:
    world = make_world(timeouts={"drain": "20s"})
    engine = world.controller()
    silence(world, engine)
    world.stuck = {READER}
    while world.control() != "Drain":
        world.tick(engine.run_once("t") or 0.01)
    given = world.time
    (reason,) = world.status["inconclusiveReasons"]
    assert reason["code"] == "LogNotStable"
    assert "in time: Kafka did not answer: " in reason["message"]
    while world.control() != "Done":
        world.tick(engine.run_once("t") or 0.01)
    assert timedelta(seconds=20) <= world.time - given < timedelta(seconds=25)
    assert _codes(world) == ["LogNotStable", "NotDrained"]


def test_drain_with_stable_log_reads_bounds_twice(world: World) -> None:
    world.run(until="Scoring")
    bounds = json.loads(world.objects["ConfigMap", "t-control"]["data"]["bounds"])
    ends = json.loads(world.objects["ConfigMap", "t-control"]["data"]["endOffsets"])
    assert all(one["settled"] for one in bounds)
    assert ends == {"foo": {"0": int(world.written), "1": int(world.written)}}


def test_drain_with_stuck_consumers_times_out(make_world: Callable[..., World]) -> None:
    world = make_world(timeouts={"drain": "10s"})
    world.run(until="Draining")
    world.stuck = {"t-consumer-c-0"}
    world.run()
    assert _codes(world) == ["NotDrained"]
    assert world.condition("Drained")["status"] == "False"
    assert world.status["phase"] == "Completed"


def told_the_end(world: World) -> tuple[Any, str]:
    """A run whose readers have been told the end, one of them at work; with that one's uid."""
    world.run(until="Draining")
    world.stuck = {READER}
    engine = world.controller()
    while world.control() != "Drain":
        world.tick(engine.run_once("t") or 0.01)
    return engine, world.objects["Pod", READER]["metadata"]["uid"]


def test_drain_with_reader_behind_the_end_is_not_drained(world: World) -> None:
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


def test_drain_with_fatal_reader_waits_for_its_replacement(
    world: World,
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


def test_drain_with_slow_reader_waits_for_its_ledger(world: World) -> None:
    engine, _ = told_the_end(world)
    delete, leaving = world.delete, []

    def slowly(deletion: Deletion) -> None:
        if deletion.name != READER:
            delete(deletion)
            return
        leaving.append(world.time)
        world.objects["Pod", READER]["metadata"]["deletionTimestamp"] = world.time.isoformat()

    world.delete = slowly  # type: ignore[method-assign]  # deletion takes a while
    while world.status["phase"] != "Scoring":
        world.tick(engine.run_once("t") or 0.01)
        if leaving and world.time > leaving[0] + timedelta(seconds=10):
            world.objects.pop(("Pod", READER), None)
    assert leaving
    assert ("Pod", READER) not in world.objects
