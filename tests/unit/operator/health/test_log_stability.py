"""Each partition's log end is stable or not by itself."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.operator.faults.doubles.cluster import SimulatedCluster

from krt_operator.constants import SETTLED_APART
from krt_operator.health.log_stability import instability, unstable_partitions

APART = int(SETTLED_APART * 1_000_000)


def reading(partition: int, at: int = 0, **changes: Any) -> dict[str, Any]:
    found = {
        "topic": "foo",
        "partition": partition,
        "takenAt": at,
        "logStart": 0,
        "highWatermark": 9,
        "lastStable": 9,
        "leader": 0,
        "leaderEpoch": 0,
        "isr": [0, 1],
    }
    return found | changes


BEFORE = [reading(0), reading(1)]


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"leader": -1}, "foo-1 has no leader"),
        ({"isr": []}, "replicas in sync"),
        ({"lastStable": 8}, "foo-1 has an open transaction at 8"),
        ({"highWatermark": 10, "lastStable": 10}, "foo-1 changed between two readings"),
        ({"takenAt": 1}, "foo-1 was read twice"),
    ],
)
def test_unstable_partitions_of_one_that_moves_names_that_one_alone(
    changes: dict[str, Any], cause: str
) -> None:
    plan = SimulatedCluster([]).plan
    now = [reading(0, APART), reading(1, APART, **changes)]
    found = unstable_partitions(plan, BEFORE, now)
    assert list(found) == [("foo", 1)]
    assert cause in found["foo", 1]
    assert instability(plan, ["foo"], BEFORE, now) == found["foo", 1]


def test_unstable_partitions_of_two_equal_readings_are_none() -> None:
    plan = SimulatedCluster([]).plan
    assert unstable_partitions(plan, BEFORE, [reading(0, APART), reading(1, APART)]) == {}


def test_instability_without_an_answer_of_a_partition_names_the_number() -> None:
    plan = SimulatedCluster([]).plan
    assert "partitions answered" in instability(plan, ["foo"], BEFORE, [reading(0, APART)])
