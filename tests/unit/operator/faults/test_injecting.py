from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krt_operator.api.status import FaultState, Phase, ProofKind
from krt_operator.phases.steps import step

LEADER = {
    "name": "leader-down",
    "delay": "10s",
    "action": "CrashPod",
    "target": {"role": "PartitionLeader", "topic": "foo", "partition": 0},
    "downFor": "20s",
}
DELETE_ZK = {"name": "zk", "action": "DeletePod", "target": {"role": "ZooKeeperLeader"}}
SHARED = HealthCheck.function_scoped_fixture
"""The fixtures are classes: every example makes its own cluster of them."""
LIMIT = 2000
"""Passes after which a run that has not ended never will."""


def play(sim: Any, kills: dict[int, int] | None = None, killed: Any = None) -> list[str]:
    """Run passes until the phase is over; `kills` is pass number to step it dies before."""
    states: list[str] = []
    for number in range(LIMIT):
        if sim.status.phase is not Phase.INJECTING:
            return states
        run, world = sim.run()
        progress = step(run, world, sim.ports())
        try:
            sim.carry_out(progress, (kills or {}).get(number, -1))
        except Exception as death:
            if killed is None or not isinstance(death, killed):
                raise
            sim.advance(3)
            continue
        for fault in sim.status.faults:
            word = f"{fault.name}:{fault.state}"
            if word not in states:
                states.append(word)
        sim.advance(max(progress.requeue_after, 0.05))
    raise AssertionError(f"still injecting after {LIMIT} passes: {sim.status.faults}")


def until_held(sim: Any) -> None:
    while not sim.status.faults or entry(sim, "leader-down").state is not FaultState.HELD:
        run, world = sim.run()
        sim.carry_out(step(run, world, sim.ports()))
        sim.advance(0.2)


def entry(sim: Any, name: str) -> Any:
    return next(one for one in sim.status.faults if one.name == name)


def kinds(sim: Any, name: str) -> set[ProofKind]:
    return {one.kind for one in entry(sim, name).effect.proofs}


def test_a_leader_is_crashed_held_and_let_back(simulate: Any) -> None:
    sim = simulate([LEADER])
    play(sim)
    fault = entry(sim, "leader-down")
    assert [one.member for one in fault.targets] == ["kafka-0"]
    assert fault.targets[0].zone == "zone-a"
    assert sim.kills == ["t-kafka-0-0"]
    assert sim.deleted == []
    # The node's clock counts, 0.3 s after the container was asked for.
    assert fault.injected_at - fault.intended_at == timedelta(seconds=0.3)
    assert fault.healed_at - fault.injected_at >= timedelta(seconds=20)
    assert fault.recovered_at > fault.healed_at
    assert fault.effect.proven
    assert kinds(sim, "leader-down") == {
        ProofKind.PROCESS_KILLED,
        ProofKind.SESSION_EXPIRED,
        ProofKind.LEADER_MOVED,
        ProofKind.ISR_SHRANK,
    }
    assert sim.status.guards == ()
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
    assert (fault.state, fault.targets[0].uid) == (FaultState.INTENDED, "uid-1")


def test_a_deleted_pod_is_held_by_its_stateful_set_at_once(simulate: Any) -> None:
    sim = simulate([LEADER | {"action": "DeletePod", "gracePeriodSeconds": 0, "delay": "0s"}])
    run, world = sim.run()
    sim.carry_out(step(run, world, sim.ports()))
    assert sim.deleted == ["t-kafka-0-0"]
    assert sim.sets["t-kafka-0"] == 0
    play(sim)
    assert ProofKind.POD_GONE in kinds(sim, "leader-down")
    assert entry(sim, "leader-down").effect.proven
    assert sim.sets["t-kafka-0"] == 1


def test_without_downtime_the_zookeeper_leader_is_back_at_once(simulate: Any) -> None:
    sim = simulate([DELETE_ZK])
    play(sim)
    fault = entry(sim, "zk")
    assert fault.targets[0].member == "zk-2"
    assert fault.healed_at == fault.injected_at
    assert fault.effect.proven


def test_a_crash_without_hold_is_not_called_recovered_before_the_session_ended(
    simulate: Any,
) -> None:
    sim = simulate([LEADER | {"downFor": "0s", "delay": "0s"}])
    play(sim)
    fault = entry(sim, "leader-down")
    assert sim.deleted == []
    assert fault.recovered_at - fault.injected_at >= timedelta(seconds=8)


def test_a_crashed_producer_is_replaced_by_another_incarnation(simulate: Any) -> None:
    crash = {"name": "p", "action": "CrashPod", "target": {"role": "Producer"}, "downFor": "5s"}
    sim = simulate([crash])
    play(sim)
    assert sim.kills == ["t-producer-a-0"]
    assert sim.deleted == ["t-producer-a-0"]
    assert sim.pods["t-producer-a-0"]["metadata"]["uid"] != entry(sim, "p").targets[0].uid
    assert entry(sim, "p").effect.proven


def test_faults_overlap_and_never_share_a_pod(simulate: Any) -> None:
    second = {
        "name": "second",
        "startsAfter": {"event": "Started"},
        "delay": "5s",
        "action": "CrashPod",
        "target": {"role": "PartitionReplica", "topic": "foo", "partition": 0},
        "downFor": "20s",
    }
    sim = simulate([LEADER | {"delay": "0s"}, second])
    play(sim)
    first, other = entry(sim, "leader-down"), entry(sim, "second")
    assert first.targets[0].member != other.targets[0].member
    assert first.injected_at < other.injected_at < first.healed_at
    assert sim.status.guards == ()


def test_a_fault_on_a_pod_that_is_down_is_skipped_and_said(simulate: Any) -> None:
    again = {
        "name": "again",
        "startsAfter": {"event": "Started"},
        "action": "CrashPod",
        "target": {"role": "Broker", "ordinals": [0]},
    }
    sim = simulate([LEADER | {"delay": "0s", "downFor": "30s"}, again])
    play(sim)
    fault = entry(sim, "again")
    assert fault.state is FaultState.SKIPPED
    assert "leader-down" in fault.message
    assert [one.code for one in sim.status.guards] == ["NoEffect"]
    assert next(c for c in sim.status.conditions if c.type == "FaultsInjected").status == "False"


FREEZE = LEADER | {"action": "FreezePod", "delay": "0s"}


def test_a_frozen_leader_loses_its_session_and_is_thawed_to_the_moment(simulate: Any) -> None:
    sim = simulate([FREEZE])
    play(sim)
    fault = entry(sim, "leader-down")
    assert (sim.kills, sim.deleted, sim.frozen) == ([], [], {})
    assert fault.targets[0].uid == sim.pods["t-kafka-0-0"]["metadata"]["uid"]
    # Both by the node's clock, whenever the controller looked.
    assert fault.healed_at - fault.injected_at == timedelta(seconds=20)
    assert fault.effect.proven
    assert kinds(sim, "leader-down") >= {
        ProofKind.PROCESS_STOPPED,
        ProofKind.SESSION_EXPIRED,
        ProofKind.LEADER_MOVED,
        ProofKind.ISR_SHRANK,
    }
    assert sim.status.guards == ()


def test_a_freeze_shorter_than_the_session_leaves_the_broker_registered(simulate: Any) -> None:
    sim = simulate([FREEZE | {"downFor": "3s"}])
    play(sim)
    assert kinds(sim, "leader-down") == {ProofKind.PROCESS_STOPPED}
    assert entry(sim, "leader-down").effect.proven
    fault = entry(sim, "leader-down")
    assert fault.recovered_at - fault.healed_at < timedelta(seconds=5)


def test_the_thaw_is_in_place_before_the_freeze(simulate: Any) -> None:
    sim = simulate([FREEZE])
    run, world = sim.run()
    sim.carry_out(step(run, world, sim.ports()))
    names = [one["name"] for one in sim.pods["t-kafka-0-0"]["spec"]["ephemeralContainers"]]
    assert names == ["krt-thaw-leader-down-1", "krt-freeze-leader-down-1"]
    # Nobody controls any more; the process goes on all the same.
    sim.advance(21)
    assert sim.frozen == {}


def test_a_thaw_that_does_not_come_is_tried_again(simulate: Any) -> None:
    sim = simulate([FREEZE])
    sim.thaw_works = False
    play(sim)
    names = [one["name"] for one in sim.pods["t-kafka-0-0"]["spec"]["ephemeralContainers"]]
    assert names[-1] == "krt-thaw-leader-down-now"
    assert sim.frozen == {}
    assert timedelta(seconds=3) <= healed_late(sim) <= timedelta(seconds=5)


def test_what_nothing_thaws_is_deleted_and_said(simulate: Any) -> None:
    sim = simulate([FREEZE])
    until_held(sim)
    sim.ephemeral_works = sim.thaw_works = False
    play(sim)
    assert sim.deleted == ["t-kafka-0-0"]
    assert {one.code for one in sim.status.guards} == {"HealFailed", "OperatorInterrupted"}


def healed_late(sim: Any) -> timedelta:
    fault = entry(sim, "leader-down")
    late: timedelta = fault.healed_at - fault.injected_at - timedelta(seconds=20)
    return late


def test_a_frozen_consumer_stays_who_it_is(simulate: Any) -> None:
    freeze = {"name": "c", "action": "FreezePod", "target": {"role": "Consumer"}, "downFor": "5s"}
    sim = simulate([freeze])
    before = {name: pod["metadata"]["uid"] for name, pod in sim.pods.items()}
    play(sim)
    assert {name: pod["metadata"]["uid"] for name, pod in sim.pods.items()} == before
    assert kinds(sim, "c") == {ProofKind.PROCESS_STOPPED}


def test_a_consumer_frozen_beyond_its_session_is_seen_to_leave(simulate: Any) -> None:
    freeze = {"name": "c", "action": "FreezePod", "target": {"role": "Consumer"}, "downFor": "15s"}
    sim = simulate([freeze])
    play(sim)
    [left] = [one for one in entry(sim, "c").effect.proofs if one.kind is ProofKind.MEMBER_LEFT]
    [target] = entry(sim, "c").targets
    assert left.subject == target.pod
    assert left.detail == f"group g has no member at {target.ip}"


def test_a_killed_consumer_left_whoever_takes_its_place(simulate: Any) -> None:
    sim = simulate([{"name": "c", "action": "CrashPod", "target": {"role": "Consumer"}}])
    play(sim)
    assert kinds(sim, "c") == {ProofKind.PROCESS_KILLED, ProofKind.MEMBER_LEFT}


EVICT = LEADER | {"action": "EvictPod", "delay": "0s"}
SECOND = {
    "name": "second",
    "startsAfter": {"event": "Started"},
    "delay": "5s",
    "action": "EvictPod",
    "target": {"role": "Broker", "ordinals": [1]},
    "downFor": "10s",
}


def test_an_eviction_is_held_and_proved_by_the_pods_absence(simulate: Any) -> None:
    sim = simulate([EVICT])
    run, world = sim.run()
    sim.carry_out(step(run, world, sim.ports()))
    assert sim.evicted == ["t-kafka-0-0"]
    assert sim.sets["t-kafka-0"] == 0
    play(sim)
    assert ProofKind.POD_GONE in kinds(sim, "leader-down")
    assert entry(sim, "leader-down").effect.proven
    assert sim.status.guards == ()


def test_a_refused_eviction_is_an_outcome_and_holds_nothing(simulate: Any) -> None:
    sim = simulate([EVICT, SECOND])
    play(sim)
    fault = entry(sim, "second")
    assert sim.evicted == ["t-kafka-0-0"]
    assert sim.sets["t-kafka-1"] == 1
    assert fault.effect.proven
    [proof] = fault.effect.proofs
    assert (proof.kind, proof.subject) == (ProofKind.EVICTION_REFUSED, "t-kafka-1-0")
    assert proof.detail == "The disruption budget t-kafka needs 2 healthy pods and has 2 currently"
    assert fault.healed_at == fault.injected_at
    assert fault.recovered_at is not None
    assert sim.status.guards == ()


def test_of_two_evictions_at_once_only_the_granted_one_is_held(simulate: Any) -> None:
    both = EVICT | {"target": {"role": "Broker", "count": 2}}
    sim = simulate([both])
    until_held(sim)
    [gone] = sim.evicted
    down = [name for name, replicas in sim.sets.items() if not replicas]
    assert down == [gone.removesuffix("-0")]
    play(sim)
    assert kinds(sim, "leader-down") >= {ProofKind.POD_GONE, ProofKind.EVICTION_REFUSED}
    assert entry(sim, "leader-down").effect.proven
    assert set(sim.sets.values()) == {1}


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
        ProofKind.PROCESS_KILLED,
        ProofKind.VOLUME_GONE,
        ProofKind.VOLUME_REPLACED,
    }
    assert fault.effect.proven
    assert timedelta(seconds=20) <= fault.healed_at - fault.injected_at <= timedelta(seconds=22)
    assert sim.status.guards == ()


def test_the_member_waits_for_its_new_volume_even_without_downtime(simulate: Any) -> None:
    sim = simulate([LOSE | {"downFor": "0s"}])
    until_held(sim)
    # The claim is going, and stays while the pod that uses it does.
    assert sim.sets["t-kafka-0"] == 0
    play(sim)
    assert sim.wiped == ["kafka-0"]
    assert entry(sim, "leader-down").effect.proven
    assert sim.sets["t-kafka-0"] == 1


def test_a_claim_that_is_slow_to_go_delays_the_heal_and_is_not_the_controllers(
    simulate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = simulate([LOSE | {"downFor": "0s"}])
    protect = sim._protect_claims  # noqa: SLF001 - the double is told to take its time
    since = sim.time
    monkeypatch.setattr(
        sim,
        "_protect_claims",
        lambda: protect() if sim.time > since + timedelta(seconds=30) else None,
    )
    play(sim)
    fault = entry(sim, "leader-down")
    assert fault.healed_at - fault.injected_at > timedelta(seconds=25)
    assert sim.status.guards == ()


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
    assert fault.effect.proven
    times = [one.at for one in fault.effect.proofs if one.kind is ProofKind.POD_GONE]
    # Eight seconds until a broker is back in every ISR.
    assert all(b - a >= timedelta(seconds=8) for a, b in itertools.pairwise(times))
    assert fault.injected_at < fault.healed_at
    assert sim.status.guards == ()


def test_the_ensemble_is_restarted_in_turn(simulate: Any) -> None:
    sim = simulate([ROLL | {"target": {"role": "ZooKeeper"}}])
    play(sim)
    assert sim.deleted == ["t-zk-0-0", "t-zk-1-0", "t-zk-2-0"]
    assert entry(sim, "roll").effect.proven


def test_a_rolling_restart_stops_at_a_broker_that_does_not_come_back(simulate: Any) -> None:
    sim = simulate([ROLL], timeouts={"recovery": "30s"})
    sim.recovers = False
    play(sim)
    assert sim.deleted == ["t-kafka-0-0"]
    assert [one.code for one in sim.status.guards] == ["NoEffect"]
    assert "kafka-1, kafka-2 not restarted" in sim.status.guards[0].message
    found = next(c for c in sim.status.conditions if c.type == "Recovered")
    assert (found.status, found.reason) == ("False", "KafkaDidNotRecover")


@pytest.mark.parametrize("part", range(4))
def test_a_rolling_restart_killed_at_any_step_ends_the_same(
    simulate: Any, killed: Any, part: int
) -> None:
    calm = simulate([ROLL | {"delay": "1s"}])
    moments = eventful(calm)
    for number, at in moments[part::4]:
        wild = simulate([ROLL | {"delay": "1s"}])
        play(wild, {number: at}, killed)
        assert (wild.deleted, wild.status.guards) == (calm.deleted, ())
        assert entry(wild, "roll").effect.proven


ELECT = {
    "name": "elect",
    "action": "ElectPreferredLeaders",
    "target": {"role": "Partition", "topic": "foo"},
}
MOVE = {
    "name": "move",
    "action": "Reassign",
    "target": {"role": "Partition", "topic": "foo", "partitions": [0, 2]},
    "to": [3, 1, 0],
}
FOUR = {"kafka": {"replicas": 4, "config": {"zookeeper.session.timeout.ms": "6000"}}}


def test_leadership_goes_back_to_the_first_replicas(simulate: Any) -> None:
    sim = simulate([ELECT])
    sim.leaders = {0: 2, 1: 0}
    play(sim)
    fault = entry(sim, "elect")
    assert sim.elections == 1
    assert [(one.kind, one.subject) for one in fault.effect.proofs] == [
        (ProofKind.PREFERRED_LEADS, f"foo-{number}") for number in range(3)
    ]
    assert fault.effect.proofs[0].detail == "broker 0 leads, the first of its replicas [0, 1, 2]"
    assert fault.effect.proven
    assert fault.targets == ()
    assert sim.status.guards == ()


def test_an_election_that_is_refused_proves_nothing(simulate: Any) -> None:
    crash = LEADER | {"delay": "0s", "downFor": "60s"}
    after = {"startsAfter": {"event": "Started"}, "delay": "20s"}
    sim = simulate([crash, ELECT | after | {"target": {"role": "Partition", "topic": "foo"}}])
    sim.recovers = False
    play(sim)
    assert not entry(sim, "elect").effect.proven
    guard = next(one for one in sim.status.guards if one.code == "NoEffect")
    assert "elect: not elected: foo-0: the preferred leader is not available" in guard.message


def test_a_kafka_that_does_not_answer_is_asked_again_for_the_election(simulate: Any) -> None:
    sim = simulate([ELECT])
    sim.leaders = {0: 2}
    run, world = sim.run()
    sim.silent = True
    sim.carry_out(step(run, world, sim.ports()))
    assert entry(sim, "elect").state is FaultState.INTENDED
    sim.silent = False
    play(sim)
    assert entry(sim, "elect").effect.proven
    assert sim.status.guards == ()


def test_partitions_are_moved_by_a_job_and_recovered_when_they_are_there(simulate: Any) -> None:
    sim = simulate([MOVE], **FOUR)
    play(sim)
    fault = entry(sim, "move")
    assert list(sim.jobs) == ["t-fault-0-1"]
    assert (sim.replicas[0], sim.replicas[1], sim.replicas[2]) == ((3, 1, 0), (1, 2, 0), (3, 1, 0))
    assert kinds(sim, "move") == {ProofKind.REASSIGNMENT_ACCEPTED, ProofKind.REPLICAS_MOVED}
    assert fault.effect.proven
    # Injected when the tool says so, healed at once, recovered when the copies are made.
    assert fault.injected_at - fault.intended_at >= timedelta(seconds=3)
    assert fault.healed_at == fault.injected_at
    assert fault.recovered_at - fault.injected_at >= timedelta(seconds=5)
    assert sim.status.guards == ()


def test_what_the_tool_refuses_is_said_and_proves_nothing(simulate: Any) -> None:
    sim = simulate([MOVE], timeouts={"recovery": "20s"}, **FOUR)
    sim.tool = (1, "Error: no such broker")
    play(sim)
    assert not entry(sim, "move").effect.proven
    assert "Error: no such broker" in sim.status.guards[0].message
    assert len(sim.jobs) > 1


def test_a_job_slower_than_ten_seconds_is_not_the_controllers_fault(
    simulate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = simulate([MOVE], **FOUR)
    work, since = sim._work, sim.time  # noqa: SLF001 - the double is told to take its time
    late = since + timedelta(seconds=40)
    monkeypatch.setattr(sim, "_work", lambda: work() if sim.time > late else None)
    play(sim)
    assert entry(sim, "move").effect.proven
    assert sim.status.guards == ()


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
        assert entry(wild, fault["name"]).effect.proven
        assert wild.status.guards == ()


def test_a_rack_falls_as_one(simulate: Any) -> None:
    rack = {
        "name": "rack",
        "action": "CrashPod",
        "target": {"role": "Rack", "zone": "zone-b"},
        "downFor": "10s",
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
    assert [one.code for one in sim.status.guards] == ["OperatorInterrupted"]
    assert "11.3 s late" in sim.status.guards[0].message


def test_away_across_a_heal(simulate: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}])
    until_held(sim)
    sim.advance(31)
    play(sim)
    assert [one.code for one in sim.status.guards] == ["OperatorInterrupted"]
    assert "healed" in sim.status.guards[0].message


def test_a_kafka_that_does_not_answer_delays_no_heal(simulate: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}])
    until_held(sim)
    sim.silent = True
    while entry(sim, "leader-down").state is FaultState.HELD:
        run, world = sim.run()
        progress = step(run, world, sim.ports())
        sim.carry_out(progress)
        sim.advance(progress.requeue_after)
    fault = entry(sim, "leader-down")
    assert fault.healed_at - fault.injected_at <= timedelta(seconds=21)


def test_a_kafka_that_stays_short_is_kafkas(simulate: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}], timeouts={"recovery": "30s"})
    sim.recovers = False
    play(sim)
    assert entry(sim, "leader-down").recovered_at is None
    found = next(c for c in sim.status.conditions if c.type == "Recovered")
    assert (found.status, found.reason) == ("False", "KafkaDidNotRecover")
    assert sim.status.guards == ()


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
    assert [one.code for one in sim.status.guards] == ["MembersNotRunning"]


def test_a_kill_that_never_comes_goes_on_without_proof(simulate: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}])
    sim.ephemeral_works = False
    play(sim)
    assert not entry(sim, "leader-down").effect.proven
    assert next(one.code for one in sim.status.guards) == "NoEffect"
    assert sim.sets["t-kafka-0"] == 1


def test_without_faults_the_phase_is_over(simulate: Any) -> None:
    sim = simulate([])
    play(sim)
    assert sim.status.phase is Phase.DRAINING


def short(action: str, down: str, role: str) -> dict[str, Any]:
    target = {"role": role} | ({"topic": "foo", "partition": 0} if role != "Producer" else {})
    return LEADER | {"action": action, "delay": "1s", "downFor": down, "target": target}


def eventful(sim: Any) -> list[tuple[int, int]]:
    """Play undisturbed; return every (pass, step) in which something was written or done."""
    found = []
    for number in range(LIMIT):
        if sim.status.phase is not Phase.INJECTING:
            break
        run, world = sim.run()
        progress = step(run, world, sim.ports())
        before, done = sim.status, len(progress.apply) + len(progress.acts)
        sim.carry_out(progress)
        if done or sim.status != before:
            # The steps: intents, each apply and act, changes, the next phase.
            found += [(number, at) for at in range(3 + done)]
        sim.advance(max(progress.requeue_after, 0.05))
    return found


def assert_same_end(calm: Any, wild: Any) -> None:
    a, b = entry(calm, "leader-down"), entry(wild, "leader-down")
    assert (b.state, b.targets, b.effect.proven) == (a.state, a.targets, True)
    assert wild.kills == calm.kills
    assert wild.freezes == calm.freezes
    assert wild.frozen == {}
    assert (wild.deleted, wild.evicted) == (calm.deleted, calm.evicted)
    assert wild.wiped == calm.wiped
    assert wild.sets == calm.sets
    assert wild.status.guards == ()
    assert timedelta() <= b.injected_at - b.due_at <= timedelta(seconds=10)
    assert b.recovered_at is not None


@pytest.mark.parametrize(
    ("action", "down"),
    [(action, down) for action in ("CrashPod", "DeletePod") for down in ("0s", "3s")]
    + [("FreezePod", "3s"), ("FreezePod", "8s"), ("EvictPod", "0s"), ("EvictPod", "3s")]
    + [("LoseDisk", "0s"), ("LoseDisk", "3s")],
)
@pytest.mark.parametrize("role", ["PartitionLeader", "Producer"])
def test_killed_at_any_step_the_end_is_the_same(
    simulate: Any, killed: Any, action: str, down: str, role: str
) -> None:
    if action in ("EvictPod", "LoseDisk") and role == "Producer":
        role = "PartitionFollower"
    fault = short(action, down, role)
    calm = simulate([fault])
    moments = eventful(calm)
    assert len(moments) > 10
    for number, at in moments:
        wild = simulate([fault])
        play(wild, {number: at}, killed)
        assert_same_end(calm, wild)


@settings(max_examples=25, deadline=None, suppress_health_check=[SHARED])
@given(kills=st.dictionaries(st.integers(0, 15), st.integers(0, 4), min_size=2, max_size=3))
def test_killed_again_and_again_the_end_is_the_same(
    simulate: Any, killed: Any, kills: dict[int, int]
) -> None:
    fault = short("CrashPod", "3s", "PartitionLeader")
    calm, wild = simulate([fault]), simulate([fault])
    play(calm)
    play(wild, kills, killed)
    assert_same_end(calm, wild)


def test_two_controllers_do_it_once(simulate: Any) -> None:
    sim = simulate([LEADER | {"delay": "0s"}])
    run, world = sim.run()
    first = step(run, world, sim.ports())
    second = step(run, world, sim.ports())
    sim.carry_out(first)
    # The second's status write would conflict; even its acts, carried out, do nothing more.
    for act in second.acts:
        act.perform(sim.ports())
    assert sim.kills == ["t-kafka-0-0"]
