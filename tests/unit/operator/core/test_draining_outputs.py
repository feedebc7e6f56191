"""Consumers that write what they make of their input end between producers and readers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World

TOPICS = [{"name": name, "partitions": 2, "replicationFactor": 3} for name in ("foo", "bar")]
TRAFFIC = {
    "producers": [{"name": "a", "topic": "foo", "recordsPerSecond": 100}],
    "consumers": [
        {
            "name": "make",
            "topics": ["foo"],
            "group": "g",
            "commit": "Transactional",
            "output": {"topic": "bar"},
        },
        {"name": "read", "topics": ["bar"], "group": "h"},
    ],
}
MAKER = "t-consumer-make-0"


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(topics=TOPICS, traffic=TRAFFIC)


def states(world: World) -> list[str]:
    """Every state the control goes through, with the topics whose ends it tells."""
    found: list[str] = []
    put = world.put

    def record(obj: dict[str, Any]) -> Any:
        if obj["kind"] == "ConfigMap" and obj["metadata"]["name"] == "t-control":
            ends = json.loads(obj["data"].get("endOffsets", "{}"))
            snapshot = " ".join([obj["data"]["state"], *sorted(ends)])
            if snapshot not in found[-1:]:
                found.append(snapshot)
        return put(obj)

    world.put = record  # type: ignore[method-assign]  # records what is stored
    return found


def test_drain_with_outputs_ends_transformers_before_readers(world: World) -> None:
    found = states(world)
    status = world.run()
    assert found == [
        "Wait",
        "Produce",
        "StopProducing",
        "DrainTransforms foo",
        "Drain bar foo",
        "Done bar foo",
        "Score bar foo",
    ]
    assert (status["phase"], status["inconclusiveReasons"]) == ("Completed", [])
    bounds = json.loads(world.objects["ConfigMap", "t-control"]["data"]["bounds"])
    assert len(bounds) == 4
    assert all(one["settled"] for one in bounds)


def test_drain_with_fatal_transformer_waits_for_its_replacement(world: World) -> None:
    found = states(world)
    world.run(until="Draining")
    world.stuck = {MAKER}
    engine = world.controller()
    for _ in range(60):
        world.tick(engine.run_once("t") or 0.01)
    assert found[-1] == "DrainTransforms foo"
    uid = world.objects["Pod", MAKER]["metadata"]["uid"]
    world.end(MAKER, 3, '{"reason":"fatal"}')
    world.stuck = set()
    status = world.run()
    assert (status["phase"], status["inconclusiveReasons"]) == ("Completed", [])
    assert uid not in {one["metadata"]["uid"] for one in world.objects.values()}


def test_drain_with_stuck_transformer_gives_it_up(world: World) -> None:
    found = states(world)
    world.run(until="Draining")
    world.stuck = {MAKER}
    status = world.run(seconds=1500)
    assert found[-2:] == ["Done bar foo", "Score bar foo"]
    codes = [one["code"] for one in status["inconclusiveReasons"]]
    assert codes[0] == "NotDrained"
    assert MAKER in status["inconclusiveReasons"][0]["message"]
    # The readers reached the end of what was made, which is not all that was to be made.
    drained = world.condition("Drained")
    assert (drained["status"], drained["message"]) == (
        "False",
        status["inconclusiveReasons"][0]["message"],
    )
    assert status["phase"] == "Completed"


def test_drain_with_transformer_behind_the_end_is_not_drained(world: World) -> None:
    found = states(world)
    world.run(until="Draining")
    world.stuck = {MAKER}
    engine = world.controller()
    while world.control() != "DrainTransforms":
        world.tick(engine.run_once("t") or 0.01)
    world.end(MAKER, 4, '{"reason":"behind"}')
    status = world.run(controller=engine)
    assert found[-2:] == ["Done bar foo", "Score bar foo"]
    assert [one["code"] for one in status["inconclusiveReasons"]] == ["NotDrained"]
    assert MAKER in world.condition("Drained")["message"]
    assert status["phase"] == "Completed"
