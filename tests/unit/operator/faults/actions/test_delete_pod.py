"""DeletePod: with and without a duration."""

from __future__ import annotations

from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.player import (
    LEADER,
    entry,
    kinds,
    play,
    play_pass,
)

from krt_operator.api.status import ObservationKind

DELETE_ZK = {"name": "zk", "action": "DeletePod", "target": {"role": "ZooKeeperLeader"}}


def test_delete_pod_with_duration_scales_the_stateful_set_to_zero_at_once() -> None:
    sim = SimulatedCluster(
        [LEADER | {"action": "DeletePod", "gracePeriodSeconds": 0, "delay": "0s"}]
    )
    play_pass(sim)
    assert sim.deleted == ["t-kafka-0-0"]
    assert sim.sets["t-kafka-0"] == 0
    play(sim)
    assert ObservationKind.POD_DELETED in kinds(sim, "leader-down")
    assert entry(sim, "leader-down").verified
    assert sim.sets["t-kafka-0"] == 1


def test_delete_pod_without_duration_is_reverted_at_once() -> None:
    sim = SimulatedCluster([DELETE_ZK])
    play(sim)
    fault = entry(sim, "zk")
    assert fault.targets[0].member == "zk-2"
    assert fault.reverted_at == fault.injected_at
    assert fault.verified
