"""ElectPreferredLeaders: the first replicas lead again."""

from __future__ import annotations

from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.player import (
    FOUR_BROKERS,
    LEADER,
    entry,
    eventful_steps,
    play,
    play_pass,
)

from krt_operator.api.status import FaultState, ObservationKind

ELECT = {
    "name": "elect",
    "action": "ElectPreferredLeaders",
    "target": {"role": "Partition", "topic": "foo"},
}


def test_elect_leaders_moved_leaderships_go_back_to_the_first_replicas() -> None:
    sim = SimulatedCluster([ELECT])
    sim.leaders = {0: 2, 1: 0}
    play(sim)
    fault = entry(sim, "elect")
    assert sim.elections == 1
    assert [(observation.kind, observation.subject) for observation in fault.observations] == [
        (ObservationKind.PREFERRED_LEADER_ELECTED, f"foo-{number}") for number in range(3)
    ]
    assert fault.observations[0].detail == "broker 0 leads, the first of its replicas [0, 1, 2]"
    assert fault.verified
    assert fault.targets == ()
    assert sim.status.inconclusive_reasons == ()


def test_elect_leaders_refused_election_is_not_verified() -> None:
    crash = LEADER | {"delay": "0s", "duration": "60s"}
    after = {"startsAfter": {"event": "Started"}, "delay": "20s"}
    sim = SimulatedCluster([crash, ELECT | after])
    sim.recovers = False
    play(sim)
    assert not entry(sim, "elect").verified
    message = next(
        reason.message
        for reason in sim.status.inconclusive_reasons
        if reason.code == "FaultNotVerified"
    )
    assert "elect: not elected: foo-0: the preferred leader is not available" in message


def test_elect_leaders_kafka_that_does_not_answer_is_asked_again() -> None:
    sim = SimulatedCluster([ELECT])
    sim.leaders = {0: 2}
    sim.silent = True
    play_pass(sim)
    assert entry(sim, "elect").state is FaultState.SCHEDULED
    sim.silent = False
    play(sim)
    assert entry(sim, "elect").verified
    assert sim.status.inconclusive_reasons == ()


def test_elect_leaders_controller_killed_before_any_step_ends_the_same() -> None:
    undisturbed = SimulatedCluster([ELECT], **FOUR_BROKERS)
    undisturbed.leaders = {0: 2}
    for number, at in eventful_steps(undisturbed):
        killed = SimulatedCluster([ELECT], **FOUR_BROKERS)
        killed.leaders = {0: 2}
        play(killed, {number: at})
        assert killed.replicas == undisturbed.replicas
        assert entry(killed, "elect").verified
        assert killed.status.inconclusive_reasons == ()
