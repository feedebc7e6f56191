from __future__ import annotations

from typing import Any

import pytest

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
        # One of three by the seed goes round those that are down; three of three cannot.
        ([crash("b", startsAfter=STARTED, target=REPLICAS)], False),
        ([crash("b", startsAfter=STARTED, target=REPLICAS | {"count": 3})], True),
        ([crash("b", startsAfter=STARTED, target={"role": "Broker", "count": 3})], True),
    ],
)
def test_faults_that_would_share_a_pod_are_told_before_the_run(
    simulate: Any, faults: list[dict[str, Any]], collide: bool
) -> None:
    assert bool(conflicts(simulate([crash("a", 0, 1), *faults]).plan)) is collide


def test_where_a_partition_is_moved_nobody_knows_its_replicas_beforehand(simulate: Any) -> None:
    move = {"name": "m", "action": "Reassign", "target": {"role": "Partition", "topic": "foo"}}
    away = move | {"targetReplicas": [0, 2, 3]}
    every = crash("b", startsAfter=STARTED, target=REPLICAS | {"count": 3})
    four = {"replicas": 4}
    faults = [crash("a", 0, 1), every]
    assert conflicts(simulate(faults, kafka=four).plan)
    assert not conflicts(simulate([away, *faults], kafka=four).plan)


def test_it_names_both_faults_and_the_member(simulate: Any) -> None:
    assert conflicts(simulate([crash("a", 0, 1), crash("b", 1, startsAfter=STARTED)]).plan) == [
        "spec.faults[b] targets kafka-1 while a is open on it; start it after a is Reverted"
    ]


def test_a_rolling_restart_has_its_members_until_all_is_whole(simulate: Any) -> None:
    roll = {"name": "roll", "action": "RollingRestart", "target": {"role": "Broker"}}
    found = conflicts(simulate([roll, crash("b", 1, startsAfter=STARTED, delay="9m")]).plan)
    assert found == [
        "spec.faults[b] targets kafka-1 while roll is open on it; start it after roll is Recovered"
    ]
