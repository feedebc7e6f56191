from __future__ import annotations

from typing import Any

import pytest
from tests.unit.operator.faults.doubles.cluster import SimulatedCluster, no_address

from krt_operator.api.spec import Fault
from krt_operator.faults.action import UnresolvedTargetError
from krt_operator.faults.kafka_state import KafkaState, read_kafka_state
from krt_operator.faults.targets import choose_by_seed, resolve_targets
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


def members(
    sim: SimulatedCluster, target: dict[str, Any], state: KafkaState, under_fault: dict[str, str]
) -> list[str]:
    targets = resolve_targets(
        fault(**target), sim.plan, sim.run()[1], state, under_fault, no_address
    )
    return [chosen.member for chosen in targets]


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
def test_resolve_targets_role_gives_its_members(target: dict[str, Any], expected: set[str]) -> None:
    sim = SimulatedCluster([])
    state = KafkaState(cluster=VIEW, coordinator=1, zookeeper_leader="zk-2")
    assert set(members(sim, target, state, {})) == expected


@pytest.mark.parametrize(
    ("target", "sentence"),
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
def test_resolve_targets_no_fitting_member_is_explained(
    target: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UnresolvedTargetError, match=sentence):
        members(SimulatedCluster([]), target, KafkaState(cluster=VIEW), {"kafka-1": "other"})


def test_resolve_targets_rolling_restart_hits_all_of_the_role() -> None:
    roll = {"name": "f", "action": "RollingRestart", "target": {"role": "ZooKeeper"}}
    sim = SimulatedCluster([])
    targets = resolve_targets(
        Fault.model_validate(roll), sim.plan, sim.run()[1], KafkaState(), {}, no_address
    )
    assert [target.member for target in targets] == ["zk-0", "zk-1", "zk-2"]


def test_resolve_targets_lose_disk_adds_the_claim_with_its_uid() -> None:
    lose = {"name": "f", "action": "LoseDisk", "target": {"role": "Broker", "ordinals": [1]}}
    sim = SimulatedCluster([])
    [target] = resolve_targets(
        Fault.model_validate(lose), sim.plan, sim.run()[1], KafkaState(), {}, no_address
    )
    assert target.claim == "t-kafka-1-data"
    assert target.claim_uid == sim.claims["t-kafka-1-data"]["metadata"]["uid"]


def test_resolve_targets_members_under_a_fault_are_avoided() -> None:
    target = FOO_0 | {"role": "PartitionReplica"}
    state = KafkaState(cluster=VIEW)
    first = members(SimulatedCluster([]), target, state, {})
    second = members(SimulatedCluster([]), target, state, {first[0]: "other"})
    assert first != second


def test_choose_by_seed_order_of_candidates_does_not_matter() -> None:
    candidates = [f"kafka-{i}" for i in range(9)]
    assert choose_by_seed(candidates, 2, 42, "f") == choose_by_seed(
        reversed(candidates), 2, 42, "f"
    )
    assert len({tuple(choose_by_seed(candidates, 2, seed, "f")) for seed in range(20)}) > 5


def test_resolve_targets_terminating_pod_is_not_chosen() -> None:
    sim = SimulatedCluster([])
    sim.pods["t-kafka-0-0"]["metadata"]["deletionTimestamp"] = "2026-11-21T04:00:00Z"
    with pytest.raises(UnresolvedTargetError, match="t-kafka-0-0"):
        members(sim, {"role": "Broker", "ordinals": [0]}, KafkaState(), {})


def test_read_kafka_state_asks_only_what_the_role_needs() -> None:
    sim = SimulatedCluster([])
    sim.silent = True
    assert read_kafka_state(fault(role="Broker").target, sim.plan, sim.ports()) == KafkaState()
    assert (
        read_kafka_state(
            fault(role="ZooKeeperLeader").target, sim.plan, sim.ports()
        ).zookeeper_leader
        == "zk-2"
    )
