"""EvictPod: granted, or refused by the disruption budget."""

from __future__ import annotations

from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.player import (
    LEADER,
    entry,
    kinds,
    play,
    play_pass,
    play_until_active,
)

from krt_operator.api.status import ObservationKind

EVICT = LEADER | {"action": "EvictPod", "delay": "0s"}

SECOND = {
    "name": "second",
    "startsAfter": {"event": "Started"},
    "delay": "5s",
    "action": "EvictPod",
    "target": {"role": "Broker", "ordinals": [1]},
    "duration": "10s",
}


def test_evict_pod_granted_keeps_the_member_down_and_is_verified() -> None:
    sim = SimulatedCluster([EVICT])
    play_pass(sim)
    assert sim.evicted == ["t-kafka-0-0"]
    assert sim.sets["t-kafka-0"] == 0
    play(sim)
    assert ObservationKind.POD_DELETED in kinds(sim, "leader-down")
    assert entry(sim, "leader-down").verified
    assert sim.status.inconclusive_reasons == ()


def test_evict_pod_refused_is_verified_and_keeps_no_member_down() -> None:
    sim = SimulatedCluster([EVICT, SECOND])
    play(sim)
    fault = entry(sim, "second")
    assert sim.evicted == ["t-kafka-0-0"]
    assert sim.sets["t-kafka-1"] == 1
    assert fault.verified
    [refusal] = fault.observations
    assert (refusal.kind, refusal.subject) == (ObservationKind.EVICTION_REFUSED, "t-kafka-1-0")
    message = "The disruption budget t-kafka needs 2 healthy pods and has 2 currently"
    assert refusal.detail == message
    assert fault.reverted_at == fault.injected_at
    assert fault.recovered_at is not None
    assert sim.status.inconclusive_reasons == ()


def test_evict_pod_two_targets_keeps_down_only_the_evicted_one() -> None:
    sim = SimulatedCluster([EVICT | {"target": {"role": "Broker", "count": 2}}])
    play_until_active(sim)
    [evicted] = sim.evicted
    down = [name for name, replicas in sim.sets.items() if not replicas]
    assert down == [evicted.removesuffix("-0")]
    play(sim)
    assert kinds(sim, "leader-down") >= {
        ObservationKind.POD_DELETED,
        ObservationKind.EVICTION_REFUSED,
    }
    assert entry(sim, "leader-down").verified
    assert set(sim.sets.values()) == {1}
