from __future__ import annotations

from typing import Any

import pytest

from krt_operator.api.spec import Fault
from krt_operator.faults.kafka_state import Look, look
from krt_operator.faults.targets import UnresolvedError, resolve, seeded
from krt_operator.kafka.views import (
    NO_BROKER,
    Broker,
    ClusterView,
    Partition,
)

VIEW = ClusterView(
    tuple(Broker(i, f"host-{i}") for i in range(3)),
    2,
    (Partition("foo", 0, 1, (0, 1, 2), (0, 1, 2)), Partition("foo", 1, NO_BROKER, (1, 2, 0), ())),
)

FOO_0: dict[str, Any] = {"topic": "foo", "partition": 0}


def fault(**target: Any) -> Fault:
    return Fault.model_validate({"name": "f", "action": "CrashPod", "target": target})


def members(sim: Any, target: dict[str, Any], seen: Look, busy: dict[str, str]) -> list[str]:
    return [one.member for one in resolve(fault(**target), sim.plan, sim.run()[1], seen, busy)]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (FOO_0 | {"role": "PartitionLeader"}, {"kafka-1"}),
        (FOO_0 | {"role": "PartitionFollower", "count": 2}, {"kafka-0", "kafka-2"}),
        (FOO_0 | {"role": "PartitionReplica", "count": 3}, {"kafka-0", "kafka-1", "kafka-2"}),
        (FOO_0 | {"role": "PartitionFollower", "excludeController": True}, {"kafka-0"}),
        (
            FOO_0 | {"role": "PartitionReplica", "excludeController": True, "count": 2},
            {"kafka-0", "kafka-1"},
        ),
        ({"role": "Controller"}, {"kafka-2"}),
        ({"role": "GroupCoordinator"}, {"kafka-1"}),
        ({"role": "Broker", "ordinals": [0, 2]}, {"kafka-0", "kafka-2"}),
        ({"role": "ZooKeeper", "ordinals": [1]}, {"zk-1"}),
        ({"role": "ZooKeeper", "count": 3}, {"zk-0", "zk-1", "zk-2"}),
        ({"role": "ZooKeeperLeader"}, {"zk-2"}),
        ({"role": "Rack", "zone": "zone-c"}, {"kafka-2"}),
        (FOO_0 | {"role": "Rack"}, {"kafka-1"}),
        ({"role": "Partition", "topic": "foo"}, set()),
        ({"role": "Producer", "name": "a"}, {"producer-a-0"}),
        ({"role": "Consumer", "ordinals": [1]}, {"consumer-c-1"}),
        ({"role": "Consumer", "count": 2}, {"consumer-c-0", "consumer-c-1"}),
    ],
)
def test_roles_name_their_members(
    simulate: Any, target: dict[str, Any], expected: set[str]
) -> None:
    sim = simulate([])
    seen = Look(cluster=VIEW, coordinator=1, zookeeper_leader="zk-2")
    assert set(members(sim, target, seen, {})) == expected


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (FOO_0 | {"role": "PartitionLeader", "partition": 1}, "foo-1 has no leader"),
        (FOO_0 | {"role": "PartitionLeader", "partition": 7}, "know partition foo-7"),
        ({"role": "GroupCoordinator"}, "no coordinator"),
        ({"role": "ZooKeeperLeader"}, "no leader"),
        ({"role": "Rack", "zone": "nowhere"}, "no broker in zone nowhere"),
        ({"role": "Broker", "ordinals": [1]}, "1 under other"),
        (FOO_0 | {"role": "Rack", "partition": 1}, "foo-1 has no leader"),
        ({"role": "ZooKeeper", "count": 5}, "asks for 5, there are 3"),
    ],
)
def test_who_is_not_there_is_said(simulate: Any, target: dict[str, Any], says: str) -> None:
    with pytest.raises(UnresolvedError, match=says):
        members(simulate([]), target, Look(cluster=VIEW), {"kafka-1": "other"})


def test_a_rolling_restart_means_all_of_the_role(simulate: Any) -> None:
    roll = {"name": "f", "action": "RollingRestart", "target": {"role": "ZooKeeper"}}
    sim = simulate([])
    found = resolve(Fault.model_validate(roll), sim.plan, sim.run()[1], Look(), {})
    assert [one.member for one in found] == ["zk-0", "zk-1", "zk-2"]


def test_a_lost_disk_names_the_claim_with_its_uid(simulate: Any) -> None:
    lose = {"name": "f", "action": "LoseDisk", "target": {"role": "Broker", "ordinals": [1]}}
    sim = simulate([])
    [found] = resolve(Fault.model_validate(lose), sim.plan, sim.run()[1], Look(), {})
    assert found.claim == "t-kafka-1-data"
    assert found.claim_uid == sim.claims["t-kafka-1-data"]["metadata"]["uid"]


def test_a_choice_goes_round_what_is_taken(simulate: Any) -> None:
    target = FOO_0 | {"role": "PartitionReplica"}
    seen = Look(cluster=VIEW)
    first = members(simulate([]), target, seen, {})
    second = members(simulate([]), target, seen, {first[0]: "other"})
    assert first != second


def test_the_seed_decides_and_nothing_else() -> None:
    among = [f"kafka-{i}" for i in range(9)]
    assert seeded(among, 2, 42, "f") == seeded(reversed(among), 2, 42, "f")
    assert len({tuple(seeded(among, 2, seed, "f")) for seed in range(20)}) > 5


def test_a_pod_that_goes_is_no_target(simulate: Any) -> None:
    sim = simulate([])
    sim.pods["t-kafka-0-0"]["metadata"]["deletionTimestamp"] = "2026-11-21T04:00:00Z"
    with pytest.raises(UnresolvedError, match="t-kafka-0-0"):
        members(sim, {"role": "Broker", "ordinals": [0]}, Look(), {})


def test_only_what_the_role_needs_is_asked(simulate: Any) -> None:
    sim = simulate([])
    sim.silent = True
    assert look(fault(role="Broker").target, sim.plan, sim.ports()) == Look()
    assert (
        look(fault(role="ZooKeeperLeader").target, sim.plan, sim.ports()).zookeeper_leader == "zk-2"
    )
