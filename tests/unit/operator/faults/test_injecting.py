"""The phase Injecting: the schedule, the journal, and what a late or failed step means."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.operator.faults.doubles.cluster import ControllerKilled, SimulatedCluster
from tests.unit.operator.faults.doubles.player import (
    LEADER,
    codes,
    condition,
    entry,
    play,
    play_pass,
    play_until_active,
    times,
)

from krt_operator.api.status import FaultState, InconclusiveReasonKind, Phase
from krt_operator.engine import journal
from krt_operator.phases.steps import step


def test_step_due_fault_journals_the_intent_before_the_side_effect() -> None:
    sim = SimulatedCluster([LEADER | {"delay": "0s"}])
    run, observed = sim.run()
    progress = step(run, observed, sim.ports())
    assert sim.kills == []
    with pytest.raises(ControllerKilled):
        sim.carry_out(progress, kill_at=1)
    assert sim.kills == []
    fault = entry(sim, "leader-down")
    assert (fault.state, fault.targets[0].uid) == (FaultState.SCHEDULED, "uid-1")


def test_step_overlapping_faults_never_share_a_pod() -> None:
    second = {
        "name": "second",
        "startsAfter": {"event": "Started"},
        "delay": "5s",
        "action": "CrashPod",
        "target": {"role": "PartitionReplica", "topic": "foo", "partition": 0},
        "duration": "20s",
    }
    sim = SimulatedCluster([LEADER | {"delay": "0s"}, second])
    play(sim)
    first, other = entry(sim, "leader-down"), entry(sim, "second")
    assert first.targets[0].member != other.targets[0].member
    at, second_at = times(sim, "leader-down"), times(sim, "second")
    assert at.injected < second_at.injected < at.reverted
    assert sim.status.inconclusive_reasons == ()


def test_step_fault_on_a_pod_under_another_fault_is_skipped_and_reported() -> None:
    again = {
        "name": "again",
        "startsAfter": {"event": "Started"},
        "action": "CrashPod",
        "target": {"role": "Broker", "ordinals": [0]},
    }
    sim = SimulatedCluster([LEADER | {"delay": "0s", "duration": "30s"}, again])
    play(sim)
    fault = entry(sim, "again")
    assert fault.state is FaultState.SKIPPED
    assert "leader-down" in fault.message
    assert codes(sim) == ["FaultNotVerified"]
    assert condition(sim, "FaultsInjected").status == "False"


def test_step_late_injection_is_reported_as_interruption() -> None:
    sim = SimulatedCluster([LEADER | {"delay": "0s"}])
    sim.advance(11)
    play(sim)
    assert codes(sim) == ["OperatorInterrupted"]
    assert "11.3 s late" in sim.status.inconclusive_reasons[0].message


def test_step_late_revert_is_reported_as_interruption() -> None:
    sim = SimulatedCluster([LEADER | {"delay": "0s"}])
    play_until_active(sim)
    sim.advance(31)
    play(sim)
    assert codes(sim) == ["OperatorInterrupted"]
    assert "reverted" in sim.status.inconclusive_reasons[0].message


def test_step_recovery_is_when_kafka_had_answered_so_no_next_fault_is_late() -> None:
    again = {
        "name": "again",
        "delay": "2s",
        "action": "External",
        "target": {"role": "Partition", "topic": "foo"},
        "duration": "10s",
    }
    sim = SimulatedCluster([LEADER | {"delay": "0s"}, again])
    play_until_active(sim)
    sim.answers_after = 4.0
    play(sim)
    assert "OperatorInterrupted" not in codes(sim)
    at = times(sim, "leader-down")
    assert at.recovered + timedelta(seconds=2) == times(sim, "again").due


def test_step_kafka_that_does_not_answer_delays_no_revert() -> None:
    sim = SimulatedCluster([LEADER | {"delay": "0s"}])
    play_until_active(sim)
    sim.silent = True
    while entry(sim, "leader-down").state is FaultState.ACTIVE:
        sim.advance(play_pass(sim))
    at = times(sim, "leader-down")
    assert at.reverted - at.injected <= timedelta(seconds=21)


def test_step_broker_that_does_not_come_back_is_a_recovery_timeout() -> None:
    sim = SimulatedCluster([LEADER | {"delay": "0s"}], timeouts={"recovery": "30s"})
    sim.recovers = False
    play(sim)
    assert entry(sim, "leader-down").recovered_at is None
    recovered = condition(sim, "Recovered")
    assert (recovered.status, recovered.reason) == ("False", "RecoveryTimedOut")
    assert sim.status.inconclusive_reasons == ()


@pytest.mark.parametrize("recovers", [True, False])
def test_step_recovery_deadline_shortly_before_another_fault_asks_kafka(*, recovers: bool) -> None:
    soon = {
        "name": "soon",
        "startsAfter": {"event": "Started"},
        "delay": "14s",
        "action": "External",
        "target": {"role": "Partition", "topic": "foo"},
        "duration": "5s",
    }
    # The broker is back after 8 s, when the next fault is too close for Kafka to be asked.
    crash = LEADER | {"delay": "0s", "duration": "0s"}
    sim = SimulatedCluster([crash, soon], timeouts={"recovery": "12s"})
    sim.recovers = recovers
    play(sim)
    fault = entry(sim, "leader-down")
    assert (fault.recovered_at is not None) is recovers
    assert "another fault" not in fault.message
    assert ("is not registered" in fault.message) is not recovers
    assert "OperatorInterrupted" not in codes(sim)


def test_step_member_that_cannot_be_scheduled_is_not_counted_against_kafka(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sim = SimulatedCluster([LEADER | {"delay": "0s"}], timeouts={"recovery": "30s"})
    start_pod = sim.start_pod

    def unscheduled(name: str, kind: str, member: str, ago: timedelta) -> None:
        start_pod(name, kind, member, ago)
        sim.pods[name]["status"] = {"phase": "Pending"}

    monkeypatch.setattr(sim, "start_pod", unscheduled)
    play(sim)
    recovered = condition(sim, "Recovered")
    assert (recovered.status, recovered.reason) == ("False", "MembersNotRunning")
    assert codes(sim) == ["MembersNotRunning"]


def test_step_reverted_fault_with_a_message_is_still_checked_for_recovery() -> None:
    sim = SimulatedCluster([LEADER | {"delay": "0s"}])
    while not sim.status.faults or sim.status.faults[0].state is not FaultState.REVERTED:
        sim.advance(play_pass(sim))
    sim.write([journal.fault("leader-down", message="a text that decides nothing")])
    play(sim)
    assert entry(sim, "leader-down").recovered_at is not None


def test_step_fault_given_up_is_not_checked_again() -> None:
    again = LEADER | {"name": "again", "startsAfter": {"event": "Reverted"}, "delay": "60s"}
    sim = SimulatedCluster([LEADER | {"delay": "0s"}, again], timeouts={"recovery": "30s"})
    sim.recovers = False
    while not sim.status.faults or sim.status.faults[0].recovery_timed_out_at is None:
        sim.advance(play_pass(sim))
    sim.write([journal.fault("leader-down", message="")])
    sim.recovers = True
    play(sim)
    assert entry(sim, "leader-down").recovered_at is None


def test_step_reason_of_another_fault_that_reads_alike_hides_nothing() -> None:
    sim = SimulatedCluster([LEADER | {"delay": "0s"}])
    play_until_active(sim)
    misleading = journal.add_inconclusive_reason(
        "FaultNotVerified",
        InconclusiveReasonKind.COVERAGE,
        "fault leader-down: is how this begins",
        sim.time,
        fault="other",
    )
    sim.write([misleading])
    while sim.status.phase is Phase.INJECTING:
        sim.write([journal.fault("leader-down", verified=None, observations=())])
        sim.advance(play_pass(sim))
    assert [reason.fault for reason in sim.status.inconclusive_reasons] == [
        "other",
        "leader-down",
    ]


def test_step_without_faults_enters_draining() -> None:
    sim = SimulatedCluster([])
    play(sim)
    assert sim.status.phase is Phase.DRAINING
