"""LoseDisk and RollingRestart."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.operator.faults.player import LEADER, entry, eventful, kinds, play, until_held

from krt_operator.api.status import ObservationKind

LOSE = LEADER | {"action": "LoseDisk", "delay": "0s"}

ROLL = {"name": "roll", "action": "RollingRestart", "target": {"role": "Broker"}}


def test_a_lost_disk_is_a_crash_and_an_empty_volume(simulate: Any) -> None:
    sim = simulate([LOSE])
    before = {name: claim["metadata"]["uid"] for name, claim in sim.claims.items()}
    play(sim)
    fault = entry(sim, "leader-down")
    assert (sim.kills, sim.wiped) == (["t-kafka-0-0"], ["kafka-0"])
    assert fault.targets[0].claim_uid == before["t-kafka-0-data"]
    changed = [n for n, claim in sim.claims.items() if claim["metadata"]["uid"] != before[n]]
    assert changed == ["t-kafka-0-data"]
    assert kinds(sim, "leader-down") >= {
        ObservationKind.PROCESS_KILLED,
        ObservationKind.VOLUME_GONE,
        ObservationKind.VOLUME_REPLACED,
    }
    assert fault.verified
    assert timedelta(seconds=20) <= fault.reverted_at - fault.injected_at <= timedelta(seconds=22)
    assert sim.status.inconclusive_reasons == ()


def test_the_member_waits_for_its_new_volume_even_without_downtime(simulate: Any) -> None:
    sim = simulate([LOSE | {"duration": "0s"}])
    until_held(sim)
    # The claim is going, and stays while the pod that uses it does.
    assert sim.sets["t-kafka-0"] == 0
    play(sim)
    assert sim.wiped == ["kafka-0"]
    assert entry(sim, "leader-down").verified
    assert sim.sets["t-kafka-0"] == 1


def test_a_claim_that_is_slow_to_go_delays_the_heal_and_is_not_the_controllers(
    simulate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = simulate([LOSE | {"duration": "0s"}])
    protect = sim._protect_claims  # noqa: SLF001 - the double is told to take its time
    since = sim.time
    monkeypatch.setattr(
        sim,
        "_protect_claims",
        lambda: protect() if sim.time > since + timedelta(seconds=30) else None,
    )
    play(sim)
    fault = entry(sim, "leader-down")
    assert fault.reverted_at - fault.injected_at > timedelta(seconds=25)
    assert sim.status.inconclusive_reasons == ()


def test_every_broker_in_turn_and_never_two(simulate: Any) -> None:
    sim = simulate([ROLL])
    down = []
    advance = sim.advance

    def watch(seconds: float) -> None:
        advance(seconds)
        down.append(sum(not sim._up(one.pod) for one in sim.plan.brokers))  # noqa: SLF001

    sim.advance = watch
    play(sim)
    fault = entry(sim, "roll")
    assert sim.deleted == ["t-kafka-0-0", "t-kafka-1-0", "t-kafka-2-0"]
    assert max(down) == 1
    assert fault.verified
    times = [one.at for one in fault.observations if one.kind is ObservationKind.POD_DELETED]
    # Eight seconds until a broker is back in every ISR.
    assert all(b - a >= timedelta(seconds=8) for a, b in itertools.pairwise(times))
    assert fault.injected_at < fault.reverted_at
    assert sim.status.inconclusive_reasons == ()


def test_the_ensemble_is_restarted_in_turn(simulate: Any) -> None:
    sim = simulate([ROLL | {"target": {"role": "ZooKeeper"}}])
    play(sim)
    assert sim.deleted == ["t-zk-0-0", "t-zk-1-0", "t-zk-2-0"]
    assert entry(sim, "roll").verified


def test_a_rolling_restart_stops_at_a_broker_that_does_not_come_back(simulate: Any) -> None:
    sim = simulate([ROLL], timeouts={"recovery": "30s"})
    sim.recovers = False
    play(sim)
    assert sim.deleted == ["t-kafka-0-0"]
    assert [one.code for one in sim.status.inconclusive_reasons] == ["FaultNotVerified"]
    assert "kafka-1, kafka-2 not restarted" in sim.status.inconclusive_reasons[0].message
    found = next(c for c in sim.status.conditions if c.type == "Recovered")
    assert (found.status, found.reason) == ("False", "RecoveryTimedOut")


@pytest.mark.parametrize("part", range(4))
def test_a_rolling_restart_killed_at_any_step_ends_the_same(
    simulate: Any, killed: Any, part: int
) -> None:
    calm = simulate([ROLL | {"delay": "1s"}])
    moments = eventful(calm)
    for number, at in moments[part::4]:
        wild = simulate([ROLL | {"delay": "1s"}])
        play(wild, {number: at}, killed)
        assert (wild.deleted, wild.status.inconclusive_reasons) == (calm.deleted, ())
        assert entry(wild, "roll").verified
