"""Reassign: partitions are moved by Kafka's tool in a Job."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.player import (
    FOUR_BROKERS,
    condition,
    entry,
    eventful_steps,
    kinds,
    play,
    times,
)

from krt_operator.api.status import ObservationKind

if TYPE_CHECKING:
    import pytest

    from krt_operator.engine.progress import Event, Progress

MOVE = {
    "name": "move",
    "action": "Reassign",
    "target": {"role": "Partition", "topic": "foo", "partitions": [0, 2]},
    "targetReplicas": [3, 1, 0],
}


def test_reassign_recovers_when_the_replicas_are_copied() -> None:
    sim = SimulatedCluster([MOVE], **FOUR_BROKERS)
    play(sim)
    assert list(sim.jobs) == ["t-fault-0-1"]
    assert (sim.replicas[0], sim.replicas[1], sim.replicas[2]) == ((3, 1, 0), (1, 2, 0), (3, 1, 0))
    assert kinds(sim, "move") == {
        ObservationKind.REASSIGNMENT_ACCEPTED,
        ObservationKind.REPLICAS_MOVED,
    }
    assert entry(sim, "move").verified
    # Injected when the tool reports it, reverted at once, recovered when the copies are made.
    at = times(sim, "move")
    assert at.injected - at.scheduled >= timedelta(seconds=3)
    assert at.reverted == at.injected
    assert at.recovered - at.injected >= timedelta(seconds=5)
    assert sim.status.inconclusive_reasons == ()


def test_reassign_refused_by_the_tool_is_reported_and_not_verified() -> None:
    sim = SimulatedCluster([MOVE], timeouts={"recovery": "20s"}, **FOUR_BROKERS)
    sim.tool = (1, "Error: no such broker")
    play(sim)
    assert not entry(sim, "move").verified
    assert "Error: no such broker" in sim.status.inconclusive_reasons[0].message
    assert len(sim.jobs) > 1
    injected = condition(sim, "FaultsInjected")
    assert (injected.status, injected.reason) == ("False", "FaultNotVerified")
    assert "not injected: move" in injected.message


def test_reassign_refused_by_the_tool_is_not_waited_for() -> None:
    sim = SimulatedCluster([MOVE], **FOUR_BROKERS)
    sim.tool = (1, "Error: no such broker")
    play(sim)
    at = times(sim, "move")
    # The tries of the tool: one begins every three seconds until the fault is late.
    assert at.recovered - at.scheduled < timedelta(seconds=20)
    assert condition(sim, "Recovered").status == "True"


def test_reassign_refused_by_the_tool_has_no_event_of_an_injection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sim = SimulatedCluster([MOVE], timeouts={"recovery": "20s"}, **FOUR_BROKERS)
    sim.tool = (1, "Error: no such broker")
    events: list[Event] = []
    carry_out = sim.carry_out

    def note_events(progress: Progress, kill_at: int = -1) -> None:
        events.extend(progress.events)
        carry_out(progress, kill_at)

    monkeypatch.setattr(sim, "carry_out", note_events)
    play(sim)
    (event,) = [each for each in events if each.reason != "Recovered"]
    assert (event.reason, event.warning) == ("FaultNotVerified", True)
    assert event.message.startswith("move: ")


def test_reassign_slow_job_is_not_counted_as_interruption(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sim = SimulatedCluster([MOVE], **FOUR_BROKERS)
    run_jobs, slow_until = sim.run_jobs, sim.time + timedelta(seconds=40)
    monkeypatch.setattr(sim, "run_jobs", lambda: run_jobs() if sim.time > slow_until else None)
    play(sim)
    assert entry(sim, "move").verified
    assert sim.status.inconclusive_reasons == ()


def test_reassign_controller_killed_before_any_step_ends_the_same() -> None:
    undisturbed = SimulatedCluster([MOVE], **FOUR_BROKERS)
    undisturbed.leaders = {0: 2}
    for number, at in eventful_steps(undisturbed):
        killed = SimulatedCluster([MOVE], **FOUR_BROKERS)
        killed.leaders = {0: 2}
        play(killed, {number: at})
        assert list(killed.jobs) == list(undisturbed.jobs)
        assert killed.replicas == undisturbed.replicas
        assert entry(killed, "move").verified
        assert killed.status.inconclusive_reasons == ()
