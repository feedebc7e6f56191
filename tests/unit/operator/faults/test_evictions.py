"""EvictPod: granted, or refused by the budget."""

from __future__ import annotations

from typing import Any

from tests.unit.operator.faults.player import LEADER, entry, kinds, play, until_held

from krt_operator.api.status import ObservationKind
from krt_operator.phases.steps import step

EVICT = LEADER | {"action": "EvictPod", "delay": "0s"}

SECOND = {
    "name": "second",
    "startsAfter": {"event": "Started"},
    "delay": "5s",
    "action": "EvictPod",
    "target": {"role": "Broker", "ordinals": [1]},
    "duration": "10s",
}


def test_an_eviction_is_held_and_proved_by_the_pods_absence(simulate: Any) -> None:
    sim = simulate([EVICT])
    run, world = sim.run()
    sim.carry_out(step(run, world, sim.ports()))
    assert sim.evicted == ["t-kafka-0-0"]
    assert sim.sets["t-kafka-0"] == 0
    play(sim)
    assert ObservationKind.POD_DELETED in kinds(sim, "leader-down")
    assert entry(sim, "leader-down").verified
    assert sim.status.inconclusive_reasons == ()


def test_a_refused_eviction_is_an_outcome_and_holds_nothing(simulate: Any) -> None:
    sim = simulate([EVICT, SECOND])
    play(sim)
    fault = entry(sim, "second")
    assert sim.evicted == ["t-kafka-0-0"]
    assert sim.sets["t-kafka-1"] == 1
    assert fault.verified
    [proof] = fault.observations
    assert (proof.kind, proof.subject) == (ObservationKind.EVICTION_REFUSED, "t-kafka-1-0")
    assert proof.detail == "The disruption budget t-kafka needs 2 healthy pods and has 2 currently"
    assert fault.reverted_at == fault.injected_at
    assert fault.recovered_at is not None
    assert sim.status.inconclusive_reasons == ()


def test_of_two_evictions_at_once_only_the_granted_one_is_held(simulate: Any) -> None:
    both = EVICT | {"target": {"role": "Broker", "count": 2}}
    sim = simulate([both])
    until_held(sim)
    [gone] = sim.evicted
    down = [name for name, replicas in sim.sets.items() if not replicas]
    assert down == [gone.removesuffix("-0")]
    play(sim)
    assert kinds(sim, "leader-down") >= {
        ObservationKind.POD_DELETED,
        ObservationKind.EVICTION_REFUSED,
    }
    assert entry(sim, "leader-down").verified
    assert set(sim.sets.values()) == {1}
