"""Reassign and ElectPreferredLeaders."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.operator.faults.player import FOUR, LEADER, entry, eventful, kinds, play

from krt_operator.api.status import FaultState, ObservationKind
from krt_operator.phases.steps import step

ELECT = {
    "name": "elect",
    "action": "ElectPreferredLeaders",
    "target": {"role": "Partition", "topic": "foo"},
}

MOVE = {
    "name": "move",
    "action": "Reassign",
    "target": {"role": "Partition", "topic": "foo", "partitions": [0, 2]},
    "targetReplicas": [3, 1, 0],
}


def test_leadership_goes_back_to_the_first_replicas(simulate: Any) -> None:
    sim = simulate([ELECT])
    sim.leaders = {0: 2, 1: 0}
    play(sim)
    fault = entry(sim, "elect")
    assert sim.elections == 1
    assert [(one.kind, one.subject) for one in fault.observations] == [
        (ObservationKind.PREFERRED_LEADER_ELECTED, f"foo-{number}") for number in range(3)
    ]
    assert fault.observations[0].detail == "broker 0 leads, the first of its replicas [0, 1, 2]"
    assert fault.verified
    assert fault.targets == ()
    assert sim.status.inconclusive_reasons == ()


def test_an_election_that_is_refused_proves_nothing(simulate: Any) -> None:
    crash = LEADER | {"delay": "0s", "duration": "60s"}
    after = {"startsAfter": {"event": "Started"}, "delay": "20s"}
    sim = simulate([crash, ELECT | after | {"target": {"role": "Partition", "topic": "foo"}}])
    sim.recovers = False
    play(sim)
    assert not entry(sim, "elect").verified
    guard = next(one for one in sim.status.inconclusive_reasons if one.code == "FaultNotVerified")
    assert "elect: not elected: foo-0: the preferred leader is not available" in guard.message


def test_a_kafka_that_does_not_answer_is_asked_again_for_the_election(simulate: Any) -> None:
    sim = simulate([ELECT])
    sim.leaders = {0: 2}
    run, world = sim.run()
    sim.silent = True
    sim.carry_out(step(run, world, sim.ports()))
    assert entry(sim, "elect").state is FaultState.SCHEDULED
    sim.silent = False
    play(sim)
    assert entry(sim, "elect").verified
    assert sim.status.inconclusive_reasons == ()


def test_partitions_are_moved_by_a_job_and_recovered_when_they_are_there(simulate: Any) -> None:
    sim = simulate([MOVE], **FOUR)
    play(sim)
    fault = entry(sim, "move")
    assert list(sim.jobs) == ["t-fault-0-1"]
    assert (sim.replicas[0], sim.replicas[1], sim.replicas[2]) == ((3, 1, 0), (1, 2, 0), (3, 1, 0))
    assert kinds(sim, "move") == {
        ObservationKind.REASSIGNMENT_ACCEPTED,
        ObservationKind.REPLICAS_MOVED,
    }
    assert fault.verified
    # Injected when the tool says so, reverted at once, recovered when the copies are made.
    assert fault.injected_at - fault.scheduled_at >= timedelta(seconds=3)
    assert fault.reverted_at == fault.injected_at
    assert fault.recovered_at - fault.injected_at >= timedelta(seconds=5)
    assert sim.status.inconclusive_reasons == ()


def test_what_the_tool_refuses_is_said_and_proves_nothing(simulate: Any) -> None:
    sim = simulate([MOVE], timeouts={"recovery": "20s"}, **FOUR)
    sim.tool = (1, "Error: no such broker")
    play(sim)
    assert not entry(sim, "move").verified
    assert "Error: no such broker" in sim.status.inconclusive_reasons[0].message
    assert len(sim.jobs) > 1


def test_a_job_slower_than_ten_seconds_is_not_the_controllers_fault(
    simulate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = simulate([MOVE], **FOUR)
    work, since = sim._work, sim.time  # noqa: SLF001 - the double is told to take its time
    late = since + timedelta(seconds=40)
    monkeypatch.setattr(sim, "_work", lambda: work() if sim.time > late else None)
    play(sim)
    assert entry(sim, "move").verified
    assert sim.status.inconclusive_reasons == ()


@pytest.mark.parametrize("fault", [ELECT, MOVE], ids=["elect", "move"])
def test_actions_on_partitions_killed_at_any_step_end_the_same(
    simulate: Any, killed: Any, fault: dict[str, Any]
) -> None:
    calm = simulate([fault], **FOUR)
    calm.leaders = {0: 2}
    moments = eventful(calm)
    for number, at in moments:
        wild = simulate([fault], **FOUR)
        wild.leaders = {0: 2}
        play(wild, {number: at}, killed)
        assert (list(wild.jobs), wild.replicas) == (list(calm.jobs), calm.replicas)
        assert entry(wild, fault["name"]).verified
        assert wild.status.inconclusive_reasons == ()
