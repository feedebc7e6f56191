"""RollingRestart: one member after another."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.player import (
    codes,
    condition,
    entry,
    eventful_steps,
    play,
    times,
)

from krt_operator.api.status import ObservationKind

ROLL = {"name": "roll", "action": "RollingRestart", "target": {"role": "Broker"}}


def test_rolling_restart_of_brokers_restarts_each_in_turn_and_never_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sim = SimulatedCluster([ROLL])
    down = []
    advance = sim.advance

    def count_down(seconds: float) -> None:
        advance(seconds)
        down.append(sum(not sim.is_up(broker.pod) for broker in sim.plan.brokers))

    monkeypatch.setattr(sim, "advance", count_down)
    play(sim)
    fault = entry(sim, "roll")
    assert sim.deleted == ["t-kafka-0-0", "t-kafka-1-0", "t-kafka-2-0"]
    assert max(down) == 1
    assert fault.verified
    deleted = [
        observation.at
        for observation in fault.observations
        if observation.kind is ObservationKind.POD_DELETED
    ]
    # Eight seconds until a broker is back in every ISR.
    assert all(b - a >= timedelta(seconds=8) for a, b in itertools.pairwise(deleted))
    assert times(sim, "roll").injected < times(sim, "roll").reverted
    assert sim.status.inconclusive_reasons == ()


def test_rolling_restart_of_zookeeper_restarts_each_in_turn() -> None:
    sim = SimulatedCluster([ROLL | {"target": {"role": "ZooKeeper"}}])
    play(sim)
    assert sim.deleted == ["t-zk-0-0", "t-zk-1-0", "t-zk-2-0"]
    assert entry(sim, "roll").verified


def test_rolling_restart_broker_that_does_not_come_back_ends_it() -> None:
    sim = SimulatedCluster([ROLL], timeouts={"recovery": "30s"})
    sim.recovers = False
    play(sim)
    assert sim.deleted == ["t-kafka-0-0"]
    assert codes(sim) == ["FaultNotVerified"]
    assert "kafka-1, kafka-2 not restarted" in sim.status.inconclusive_reasons[0].message
    recovered = condition(sim, "Recovered")
    assert (recovered.status, recovered.reason) == ("False", "RecoveryTimedOut")


def test_rolling_restart_pod_that_stays_terminating_ends_it() -> None:
    sim = SimulatedCluster([ROLL], timeouts={"recovery": "30s"})
    sim.unreachable = {"t-kafka-1-0"}
    play(sim)
    assert sim.deleted == ["t-kafka-0-0", "t-kafka-1-0"]
    assert codes(sim) == ["FaultNotVerified"]
    message = sim.status.inconclusive_reasons[0].message
    assert "kafka-1, kafka-2 not restarted: pod t-kafka-1-0 is still terminating" in message
    second = times(sim, "roll").injected + timedelta(seconds=8)
    took = times(sim, "roll").reverted - second
    # The grace period of 10 s, and timeouts.recovery.
    assert timedelta(seconds=40) < took < timedelta(seconds=45)
    assert condition(sim, "Recovered").reason == "RecoveryTimedOut"


@pytest.mark.parametrize("part", range(4))
def test_rolling_restart_controller_killed_before_any_step_ends_the_same(part: int) -> None:
    undisturbed = SimulatedCluster([ROLL | {"delay": "1s"}])
    steps = eventful_steps(undisturbed)
    for number, at in steps[part::4]:
        killed = SimulatedCluster([ROLL | {"delay": "1s"}])
        play(killed, {number: at})
        assert killed.deleted == undisturbed.deleted
        assert killed.status.inconclusive_reasons == ()
        assert entry(killed, "roll").verified
