"""FreezePod: exact in time, with or without a controller, and always reverted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.player import (
    LEADER,
    codes,
    entry,
    kinds,
    play,
    play_pass,
    play_until_active,
    times,
)

from krt_operator.api.status import ObservationKind

FREEZE = LEADER | {"action": "FreezePod", "delay": "0s"}


def test_freeze_pod_leader_loses_its_session_and_is_thawed_exactly_on_time() -> None:
    sim = SimulatedCluster([FREEZE])
    play(sim)
    fault = entry(sim, "leader-down")
    assert (sim.kills, sim.deleted, sim.frozen) == ([], [], {})
    assert fault.targets[0].uid == sim.pods["t-kafka-0-0"]["metadata"]["uid"]
    # Both by the clock of the node, whenever the controller looked.
    at = times(sim, "leader-down")
    assert at.reverted - at.injected == timedelta(seconds=20)
    assert fault.verified
    assert kinds(sim, "leader-down") >= {
        ObservationKind.PROCESS_STOPPED,
        ObservationKind.SESSION_EXPIRED,
        ObservationKind.LEADER_MOVED,
        ObservationKind.ISR_SHRANK,
    }
    assert sim.status.inconclusive_reasons == ()


def test_freeze_pod_session_that_ends_shortly_before_the_thaw_is_observed() -> None:
    sim = SimulatedCluster([FREEZE | {"duration": "10s"}])
    play(sim)
    assert ObservationKind.SESSION_EXPIRED in kinds(sim, "leader-down")


def test_freeze_pod_shorter_than_the_session_leaves_the_broker_registered() -> None:
    sim = SimulatedCluster([FREEZE | {"duration": "3s"}])
    play(sim)
    assert kinds(sim, "leader-down") == {ObservationKind.PROCESS_STOPPED}
    assert entry(sim, "leader-down").verified
    at = times(sim, "leader-down")
    assert at.recovered - at.reverted < timedelta(seconds=5)


def test_freeze_pod_thawing_container_is_started_first_and_needs_no_controller() -> None:
    sim = SimulatedCluster([FREEZE])
    play_pass(sim)
    names = [
        container["name"] for container in sim.pods["t-kafka-0-0"]["spec"]["ephemeralContainers"]
    ]
    assert names == ["krt-thaw-leader-down-1", "krt-freeze-leader-down-1"]
    # Without another pass, the process is thawed all the same.
    sim.advance(21)
    assert sim.frozen == {}


def test_freeze_pod_missing_thaw_is_tried_again() -> None:
    sim = SimulatedCluster([FREEZE])
    sim.thaw_works = False
    play(sim)
    names = [
        container["name"] for container in sim.pods["t-kafka-0-0"]["spec"]["ephemeralContainers"]
    ]
    assert names[-1] == "krt-thaw-leader-down-now"
    assert sim.frozen == {}
    assert timedelta(seconds=3) <= revert_delay(sim) <= timedelta(seconds=5)


def test_freeze_pod_process_that_cannot_be_thawed_is_deleted_and_reported() -> None:
    sim = SimulatedCluster([FREEZE])
    play_until_active(sim)
    sim.ephemeral_works = sim.thaw_works = False
    play(sim)
    assert sim.deleted == ["t-kafka-0-0"]
    # The node did not act; the controller was in time.
    assert codes(sim) == ["RevertFailed"]


def test_freeze_pod_container_that_never_starts_is_not_counted_as_interruption() -> None:
    sim = SimulatedCluster([FREEZE])
    sim.ephemeral_works = False
    play(sim)
    assert sim.deleted == []
    assert codes(sim) == ["FaultNotVerified"]


def test_freeze_pod_controller_that_was_away_when_it_was_to_delete_is_counted() -> None:
    sim = SimulatedCluster([FREEZE])
    play_until_active(sim)
    sim.ephemeral_works = sim.thaw_works = False
    sim.advance(20 + 30 + 12)
    play(sim)
    assert sim.deleted == ["t-kafka-0-0"]
    assert sorted(codes(sim)) == ["OperatorInterrupted", "RevertFailed"]


def revert_delay(sim: SimulatedCluster) -> timedelta:
    at = times(sim, "leader-down")
    return at.reverted - at.injected - timedelta(seconds=20)


def test_freeze_pod_consumer_keeps_its_pod() -> None:
    freeze = {"name": "c", "action": "FreezePod", "target": {"role": "Consumer"}, "duration": "5s"}
    sim = SimulatedCluster([freeze])
    before = {name: pod["metadata"]["uid"] for name, pod in sim.pods.items()}
    play(sim)
    assert {name: pod["metadata"]["uid"] for name, pod in sim.pods.items()} == before
    assert kinds(sim, "c") == {ObservationKind.PROCESS_STOPPED}


def test_freeze_pod_consumer_longer_than_its_session_is_observed_to_leave() -> None:
    freeze = {"name": "c", "action": "FreezePod", "target": {"role": "Consumer"}, "duration": "15s"}
    sim = SimulatedCluster([freeze])
    play(sim)
    [left] = [
        observation
        for observation in entry(sim, "c").observations
        if observation.kind is ObservationKind.MEMBER_LEFT
    ]
    [target] = entry(sim, "c").targets
    assert left.subject == target.pod
    assert left.detail == f"group g has no member at {target.ip}"


@pytest.mark.parametrize(
    "second",
    [
        {
            "action": "CrashPod",
            "target": {"role": "PartitionLeader", "topic": "foo", "partition": 1},
        },
        {"action": "CrashPod", "target": {"role": "GroupCoordinator", "group": "g"}},
        {
            "action": "ElectPreferredLeaders",
            "target": {"role": "Partition", "topic": "foo", "partition": 1},
        },
    ],
    ids=["leader", "coordinator", "election"],
)
def test_freeze_pod_frozen_broker_does_not_delay_the_next_fault(second: dict[str, Any]) -> None:
    meanwhile = {"name": "next", "startsAfter": {"fault": "leader-down", "event": "Started"}}
    sim = SimulatedCluster([FREEZE, meanwhile | {"delay": "2s"} | second])
    play(sim)
    # A client that asks the frozen broker waits 5 s for it in vain.
    assert times(sim, "next").injected - times(sim, "next").due < timedelta(seconds=3)
    reasons = [reason.message for reason in sim.status.inconclusive_reasons]
    assert not [message for message in reasons if "next" in message]


def test_freeze_pod_of_several_stops_again_only_the_one_that_was_missed() -> None:
    two = {"role": "Broker", "ordinals": [1, 2]}
    sim = SimulatedCluster(
        [{"name": "two", "action": "FreezePod", "target": two, "duration": "5s"}]
    )
    sim.misses["t-kafka-2-0"] = 1
    play(sim)
    assert sorted(sim.freezes) == ["t-kafka-1-0", "t-kafka-2-0"]
    assert entry(sim, "two").attempt == 2
    assert sim.frozen == {}
