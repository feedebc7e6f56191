"""The schedule and the journal, with crashes and deletions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.operator.faults.player import LEADER, entry, kinds, play, until_held

from krt_operator.api.status import FaultState, ObservationKind, Phase
from krt_operator.phases.steps import step

DELETE_ZK = {"name": "zk", "action": "DeletePod", "target": {"role": "ZooKeeperLeader"}}


def test_a_leader_is_crashed_held_and_let_back(simulate: Any) -> None:
    sim = simulate([LEADER])
    play(sim)
    fault = entry(sim, "leader-down")
    assert [one.member for one in fault.targets] == ["kafka-0"]
    assert fault.targets[0].zone == "zone-a"
    assert sim.kills == ["t-kafka-0-0"]
    assert sim.deleted == []
    # The node's clock counts, 0.3 s after the container was asked for.
    assert fault.injected_at - fault.scheduled_at == timedelta(seconds=0.3)
    assert fault.reverted_at - fault.injected_at >= timedelta(seconds=20)
    assert fault.recovered_at > fault.reverted_at
    assert fault.verified
    assert kinds(sim, "leader-down") == {
        ObservationKind.PROCESS_KILLED,
        ObservationKind.SESSION_EXPIRED,
        ObservationKind.LEADER_MOVED,
        ObservationKind.ISR_SHRANK,
    }
    assert sim.status.inconclusive_reasons == ()
    assert sim.sets["t-kafka-0"] == 1
    assert {c.type: c.status for c in sim.status.conditions} == {
        "FaultsInjected": "True",
        "Recovered": "True",
    }


def test_the_intent_is_in_the_journal_before_anything_is_done(simulate: Any, killed: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}])
    run, world = sim.run()
    progress = step(run, world, sim.ports())
    assert sim.kills == []
    with pytest.raises(killed):
        sim.carry_out(progress, kill_at=1)
    assert sim.kills == []
    fault = entry(sim, "leader-down")
    assert (fault.state, fault.targets[0].uid) == (FaultState.SCHEDULED, "uid-1")


def test_a_deleted_pod_is_held_by_its_stateful_set_at_once(simulate: Any) -> None:
    sim = simulate([LEADER | {"action": "DeletePod", "gracePeriodSeconds": 0, "delay": "0s"}])
    run, world = sim.run()
    sim.carry_out(step(run, world, sim.ports()))
    assert sim.deleted == ["t-kafka-0-0"]
    assert sim.sets["t-kafka-0"] == 0
    play(sim)
    assert ObservationKind.POD_DELETED in kinds(sim, "leader-down")
    assert entry(sim, "leader-down").verified
    assert sim.sets["t-kafka-0"] == 1


def test_without_downtime_the_zookeeper_leader_is_back_at_once(simulate: Any) -> None:
    sim = simulate([DELETE_ZK])
    play(sim)
    fault = entry(sim, "zk")
    assert fault.targets[0].member == "zk-2"
    assert fault.reverted_at == fault.injected_at
    assert fault.verified


def test_a_crash_without_hold_is_not_called_recovered_before_the_session_ended(
    simulate: Any,
) -> None:
    sim = simulate([LEADER | {"duration": "0s", "delay": "0s"}])
    play(sim)
    fault = entry(sim, "leader-down")
    assert sim.deleted == []
    assert fault.recovered_at - fault.injected_at >= timedelta(seconds=8)


def test_a_crashed_producer_is_replaced_by_another_incarnation(simulate: Any) -> None:
    crash = {"name": "p", "action": "CrashPod", "target": {"role": "Producer"}, "duration": "5s"}
    sim = simulate([crash])
    play(sim)
    assert sim.kills == ["t-producer-a-0"]
    assert sim.deleted == ["t-producer-a-0"]
    assert sim.pods["t-producer-a-0"]["metadata"]["uid"] != entry(sim, "p").targets[0].uid
    assert entry(sim, "p").verified


def test_faults_overlap_and_never_share_a_pod(simulate: Any) -> None:
    second = {
        "name": "second",
        "startsAfter": {"event": "Started"},
        "delay": "5s",
        "action": "CrashPod",
        "target": {"role": "PartitionReplica", "topic": "foo", "partition": 0},
        "duration": "20s",
    }
    sim = simulate([LEADER | {"delay": "0s"}, second])
    play(sim)
    first, other = entry(sim, "leader-down"), entry(sim, "second")
    assert first.targets[0].member != other.targets[0].member
    assert first.injected_at < other.injected_at < first.reverted_at
    assert sim.status.inconclusive_reasons == ()


def test_a_fault_on_a_pod_that_is_down_is_skipped_and_said(simulate: Any) -> None:
    again = {
        "name": "again",
        "startsAfter": {"event": "Started"},
        "action": "CrashPod",
        "target": {"role": "Broker", "ordinals": [0]},
    }
    sim = simulate([LEADER | {"delay": "0s", "duration": "30s"}, again])
    play(sim)
    fault = entry(sim, "again")
    assert fault.state is FaultState.SKIPPED
    assert "leader-down" in fault.message
    assert [one.code for one in sim.status.inconclusive_reasons] == ["FaultNotVerified"]
    assert next(c for c in sim.status.conditions if c.type == "FaultsInjected").status == "False"


def test_a_rack_falls_as_one(simulate: Any) -> None:
    rack = {
        "name": "rack",
        "action": "CrashPod",
        "target": {"role": "Rack", "zone": "zone-b"},
        "duration": "10s",
    }
    sim = simulate(
        [rack], kafka={"replicas": 5, "config": {"zookeeper.session.timeout.ms": "6000"}}
    )
    play(sim)
    assert sorted(sim.kills) == ["t-kafka-1-0", "t-kafka-4-0"]


def test_a_controller_that_was_away_says_so(simulate: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}])
    sim.advance(11)
    play(sim)
    assert [one.code for one in sim.status.inconclusive_reasons] == ["OperatorInterrupted"]
    assert "11.3 s late" in sim.status.inconclusive_reasons[0].message


def test_away_across_a_heal(simulate: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}])
    until_held(sim)
    sim.advance(31)
    play(sim)
    assert [one.code for one in sim.status.inconclusive_reasons] == ["OperatorInterrupted"]
    assert "reverted" in sim.status.inconclusive_reasons[0].message


def test_a_kafka_that_does_not_answer_delays_no_heal(simulate: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}])
    until_held(sim)
    sim.silent = True
    while entry(sim, "leader-down").state is FaultState.ACTIVE:
        run, world = sim.run()
        progress = step(run, world, sim.ports())
        sim.carry_out(progress)
        sim.advance(progress.requeue_after)
    fault = entry(sim, "leader-down")
    assert fault.reverted_at - fault.injected_at <= timedelta(seconds=21)


def test_a_kafka_that_stays_short_is_kafkas(simulate: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}], timeouts={"recovery": "30s"})
    sim.recovers = False
    play(sim)
    assert entry(sim, "leader-down").recovered_at is None
    found = next(c for c in sim.status.conditions if c.type == "Recovered")
    assert (found.status, found.reason) == ("False", "RecoveryTimedOut")
    assert sim.status.inconclusive_reasons == ()


def test_members_that_cannot_start_are_not_kafkas(simulate: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}], timeouts={"recovery": "30s"})
    start = sim._start  # noqa: SLF001 - the double is told to schedule nothing any more

    def unscheduled(name: str, kind: str, member: str, ago: timedelta) -> None:
        start(name, kind, member, ago)
        sim.pods[name]["status"] = {"phase": "Pending"}

    sim._start = unscheduled  # noqa: SLF001 - as above
    play(sim)
    found = next(c for c in sim.status.conditions if c.type == "Recovered")
    assert (found.status, found.reason) == ("False", "MembersNotRunning")
    assert [one.code for one in sim.status.inconclusive_reasons] == ["MembersNotRunning"]


def test_a_kill_that_never_comes_goes_on_without_proof(simulate: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}])
    sim.ephemeral_works = False
    play(sim)
    assert not entry(sim, "leader-down").verified
    assert next(one.code for one in sim.status.inconclusive_reasons) == "FaultNotVerified"
    assert sim.sets["t-kafka-0"] == 1


def test_without_faults_the_phase_is_over(simulate: Any) -> None:
    sim = simulate([])
    play(sim)
    assert sim.status.phase is Phase.DRAINING
