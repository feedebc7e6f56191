from __future__ import annotations

from typing import Any

import pytest
from tests.unit.operator.faults.doubles.cluster import SimulatedCluster

from krt_operator.plan.overlaps import conflicts

STARTED = {"event": "Started"}


def crash(name: str, *ordinals: int, **fields: Any) -> dict[str, Any]:
    target = {"role": "Broker", "ordinals": list(ordinals)}
    return {"name": name, "action": "CrashPod", "target": target, "duration": "20s"} | fields


REPLICAS = {"role": "PartitionReplica", "topic": "foo", "partition": 0}


@pytest.mark.parametrize(
    ("faults", "collide"),
    [
        ([crash("b", 1, 2, startsAfter=STARTED)], True),
        ([crash("b", 2, startsAfter=STARTED)], False),
        ([crash("b", 1, startsAfter=STARTED, delay="20s")], False),
        ([crash("b", 1)], False),
        ([crash("b", 1, startsAfter={"event": "Reverted"})], False),
        # The third starts 10 s into the first, by way of the second.
        (
            [
                crash("b", 2, startsAfter=STARTED, delay="5s", duration="1s"),
                crash("c", 0, startsAfter=STARTED, delay="5s"),
            ],
            True,
        ),
        # It begins when the second is reverted, 6 s into the first.
        (
            [
                crash("b", 2, startsAfter=STARTED, delay="5s", duration="1s"),
                crash("c", 0, startsAfter={"event": "Reverted"}),
            ],
            True,
        ),
        ([crash("b", startsAfter=STARTED, target={"role": "Rack", "zone": "zone-b"})], True),
        ([crash("b", startsAfter=STARTED, target={"role": "Rack", "zone": "zone-c"})], False),
        # One of three by the seed avoids the members that are down; three of three cannot.
        ([crash("b", startsAfter=STARTED, target=REPLICAS)], False),
        ([crash("b", startsAfter=STARTED, target=REPLICAS | {"count": 3})], True),
        ([crash("b", startsAfter=STARTED, target={"role": "Broker", "count": 3})], True),
    ],
)
def test_conflicts_only_certain_collisions_are_found(
    faults: list[dict[str, Any]], collide: bool
) -> None:
    assert bool(conflicts(SimulatedCluster([crash("a", 0, 1), *faults]).plan)) is collide


def test_conflicts_moved_partition_has_no_certain_replicas() -> None:
    move = {"name": "m", "action": "Reassign", "target": {"role": "Partition", "topic": "foo"}}
    moved = move | {"targetReplicas": [0, 2, 3]}
    every = crash("b", startsAfter=STARTED, target=REPLICAS | {"count": 3})
    four = {"replicas": 4}
    faults = [crash("a", 0, 1), every]
    assert conflicts(SimulatedCluster(faults, kafka=four).plan)
    assert not conflicts(SimulatedCluster([moved, *faults], kafka=four).plan)


def test_conflicts_sentence_names_both_faults_and_the_member() -> None:
    assert conflicts(
        SimulatedCluster([crash("a", 0, 1), crash("b", 1, startsAfter=STARTED)]).plan
    ) == ["spec.faults[b] targets kafka-1 while a is open on it; start it after a is Reverted"]


def test_conflicts_rolling_restart_is_open_until_recovered() -> None:
    roll = {"name": "roll", "action": "RollingRestart", "target": {"role": "Broker"}}
    found = conflicts(SimulatedCluster([roll, crash("b", 1, startsAfter=STARTED, delay="9m")]).plan)
    assert found == [
        "spec.faults[b] targets kafka-1 while roll is open on it; start it after roll is Recovered"
    ]
