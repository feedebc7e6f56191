"""CrashPod: SIGKILL, with and without a duration."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.player import (
    LEADER,
    codes,
    condition,
    entry,
    kinds,
    play,
    times,
)

from krt_operator.api.status import ObservationKind


def test_crash_pod_leader_is_kept_down_for_the_duration_and_recovers() -> None:
    sim = SimulatedCluster([LEADER])
    play(sim)
    fault = entry(sim, "leader-down")
    assert [target.member for target in fault.targets] == ["kafka-0"]
    assert fault.targets[0].zone == "zone-a"
    assert sim.kills == ["t-kafka-0-0"]
    assert sim.deleted == []
    at = times(sim, "leader-down")
    # By the clock of the node, 0.3 s after the container was requested.
    assert at.injected - at.scheduled == timedelta(seconds=0.3)
    assert at.reverted - at.injected >= timedelta(seconds=20)
    assert at.recovered > at.reverted
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


def test_crash_pod_without_duration_recovers_only_after_the_session_ended() -> None:
    sim = SimulatedCluster([LEADER | {"duration": "0s", "delay": "0s"}])
    play(sim)
    assert sim.deleted == []
    at = times(sim, "leader-down")
    assert at.recovered - at.injected >= timedelta(seconds=8)


def test_crash_pod_producer_is_replaced_by_another_pod() -> None:
    crash = {"name": "p", "action": "CrashPod", "target": {"role": "Producer"}, "duration": "5s"}
    sim = SimulatedCluster([crash])
    play(sim)
    assert sim.kills == ["t-producer-a-0"]
    assert sim.deleted == ["t-producer-a-0"]
    assert sim.pods["t-producer-a-0"]["metadata"]["uid"] != entry(sim, "p").targets[0].uid
    assert entry(sim, "p").verified


def test_crash_pod_rack_kills_every_broker_of_the_zone() -> None:
    rack = {
        "name": "rack",
        "action": "CrashPod",
        "target": {"role": "Rack", "zone": "zone-b"},
        "duration": "10s",
    }
    sim = SimulatedCluster(
        [rack], kafka={"replicas": 5, "config": {"zookeeper.session.timeout.ms": "6000"}}
    )
    play(sim)
    assert sorted(sim.kills) == ["t-kafka-1-0", "t-kafka-4-0"]


def test_crash_pod_container_that_never_starts_leaves_the_fault_unverified() -> None:
    sim = SimulatedCluster([LEADER | {"delay": "0s"}])
    sim.ephemeral_works = False
    play(sim)
    assert not entry(sim, "leader-down").verified
    assert codes(sim)[0] == "FaultNotVerified"
    assert condition(sim, "FaultsInjected").status == "False"
    assert sim.sets["t-kafka-0"] == 1


def test_crash_pod_consumer_that_is_replaced_is_observed_to_leave() -> None:
    sim = SimulatedCluster([{"name": "c", "action": "CrashPod", "target": {"role": "Consumer"}}])
    play(sim)
    assert kinds(sim, "c") == {ObservationKind.PROCESS_KILLED, ObservationKind.MEMBER_LEFT}


def test_crash_pod_of_several_hits_again_only_the_one_that_was_missed() -> None:
    two = {"role": "Broker", "ordinals": [1, 2]}
    sim = SimulatedCluster([{"name": "two", "action": "CrashPod", "target": two}])
    sim.misses["t-kafka-2-0"] = 1
    play(sim)
    assert sorted(sim.kills) == ["t-kafka-1-0", "t-kafka-2-0"]
    assert entry(sim, "two").attempt == 2
    assert entry(sim, "two").verified
