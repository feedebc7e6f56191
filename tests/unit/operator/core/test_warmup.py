"""The warm-up: counted only while writes are prompt enough for the gaps that the test is about."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.operator.doubles.objects import spec

from krt_operator.api.spec import Spec
from krt_operator.health.traffic_flow import late, prompt_within, shortest_gap
from krt_operator.kafka.views import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World

FOO = [("foo", 0), ("foo", 1), ("foo", 2)]
SHARE = 0.1


def bounds(high: int) -> list[Bounds]:
    return [Bounds(topic, one, 0, 0, high, high, 0, 0, (0,)) for topic, one in FOO]


@pytest.mark.parametrize(
    ("lately", "prompt", "expected"),
    [
        pytest.param([0, 0, 0], [990, 990, 990], (), id="all prompt"),
        pytest.param([0, 0, 0], [990, None, 990], ("foo-1",), id="one partition is late"),
        pytest.param([0, None, 0], [990, None, 990], (), id="one that no key falls on"),
        pytest.param([901, 901, 901], [999, None, None], (), id="rarely written, one is prompt"),
        pytest.param([940, 940, 940], [None, None, None], ("foo",), id="rarely written, all late"),
        pytest.param([980, 980, 980], [None, None, None], (), id="too few to tell"),
        pytest.param([1001, 1001, 1001], [1001, 1001, 1001], (), id="written since the bounds"),
    ],
)
def test_late_names_partitions_without_recent_records(
    lately: list[int | None], prompt: list[int | None], expected: tuple[str, ...]
) -> None:
    def known(offsets: list[int | None]) -> dict[tuple[str, int], int]:
        pairs = zip(FOO, offsets, strict=True)
        return {key: offset for key, offset in pairs if offset is not None}

    assert late(bounds(1000), known(lately), known(prompt), SHARE) == expected


def gaps(*items: dict[str, Any]) -> dict[str, Any]:
    fault = {"name": "f", "action": "CrashPod", "target": {"role": "Broker", "ordinals": [1]}}
    return {
        "faults": [fault],
        "expect": {"faults": [{"name": "f", "unavailability": list(items)}]},
    }


@pytest.mark.parametrize(
    ("changes", "within", "where"),
    [
        ({}, 2.5, "spec.scoring.objectives"),
        ({"scoring": {"objectives": {"maxWriteUnavailability": "3s"}}}, 0.5, "objectives"),
        (gaps({"of": "Writes", "longerThan": "6s", "max": 0}), 1, "spec.expect.faults[f]"),
        (gaps({"of": "Reads", "longerThan": "6s", "max": 0}), 2.5, "spec.scoring.objectives"),
        (gaps({"of": "Writes", "longerThan": "30s", "min": 1}), 2.5, "spec.scoring.objectives"),
    ],
)
def test_prompt_within_follows_from_the_shortest_gap(
    changes: dict[str, Any], within: float, where: str
) -> None:
    found = Spec.model_validate(spec(**changes))
    assert prompt_within(found) == timedelta(seconds=within)
    assert where in shortest_gap(found)[1]


def warmed_up(status: dict[str, Any]) -> tuple[datetime, datetime]:
    """When Warmup began and ended."""
    (found,) = [one for one in status["phases"] if one["name"] == "Warmup"]
    return datetime.fromisoformat(found["startTime"]), datetime.fromisoformat(found["endTime"])


def reasons(world: World) -> list[str]:
    return [one["reason"] for one in world.events]


def test_warmup_with_slow_writes_starts_again(make_world: Callable[..., World]) -> None:
    world = make_world(warmup="20s")
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    world.run(seconds=12, controller=engine)
    assert world.condition("TrafficEstablished")["status"] == "True"
    world.write_takes = 4
    world.run(seconds=4, controller=engine)
    condition = world.condition("TrafficEstablished")
    assert (condition["status"], condition["reason"]) == ("False", "ProduceLatencyHigh")
    assert "foo-0, foo-1 without a record of the last 2500 ms" in condition["message"]
    assert "a gap of 15s (spec.scoring.objectives)" in condition["message"]
    quiet = world.time
    world.write_takes = 0.01
    status = world.run(controller=engine)
    assert timedelta(seconds=20) <= warmed_up(status)[1] - quiet < timedelta(seconds=25)
    assert status["verdict"] == "Passed"
    assert reasons(world).count("ProduceLatencyHigh") == 1
    assert reasons(world).count("TrafficEstablished") == 2


def test_warmup_with_slow_requests_still_finds_slow_writes(
    make_world: Callable[..., World],
) -> None:
    world = make_world(warmup="20s")
    engine = world.controller()
    world.run(until="Warmup", controller=engine)
    world.write_takes, world.bounds_take = 3, 2
    world.run(seconds=12, controller=engine)
    assert world.condition("TrafficEstablished")["reason"] == "ProduceLatencyHigh"


def test_warmup_with_writes_always_slow_waits_until_the_timeout(
    make_world: Callable[..., World],
) -> None:
    world = make_world(warmup="20s", timeouts={"warmup": "1m"})
    world.write_takes = 4
    status = world.run()
    begun, ended = warmed_up(status)
    assert timedelta(seconds=80) <= ended - begun < timedelta(seconds=90)
    assert status["verdict"] == "Passed"


def test_warmup_with_pod_lost_while_slow_reports_it(make_world: Callable[..., World]) -> None:
    world = make_world(warmup="20s")
    engine = world.controller()
    world.write_takes = 4
    world.run(until="Warmup", controller=engine)
    world.run(seconds=10, controller=engine)
    world.silent_kafka = True
    world.run(seconds=4, controller=engine)
    assert world.condition("TrafficEstablished")["reason"] == "ProduceLatencyHigh"
    del world.objects["Pod", "t-producer-a-0"]
    world.run(seconds=4, controller=engine)
    assert [one["code"] for one in world.status["inconclusiveReasons"]] == ["TrafficPodLost"]
