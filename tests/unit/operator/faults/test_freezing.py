"""FreezePod: exact, whoever looks, and never for ever."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.operator.faults.player import LEADER, entry, kinds, play, until_held

from krt_operator.api.status import ObservationKind
from krt_operator.health import recovery
from krt_operator.phases.steps import step

FREEZE = LEADER | {"action": "FreezePod", "delay": "0s"}


def test_a_frozen_leader_loses_its_session_and_is_thawed_to_the_moment(simulate: Any) -> None:
    sim = simulate([FREEZE])
    play(sim)
    fault = entry(sim, "leader-down")
    assert (sim.kills, sim.deleted, sim.frozen) == ([], [], {})
    assert fault.targets[0].uid == sim.pods["t-kafka-0-0"]["metadata"]["uid"]
    # Both by the node's clock, whenever the controller looked.
    assert fault.reverted_at - fault.injected_at == timedelta(seconds=20)
    assert fault.verified
    assert kinds(sim, "leader-down") >= {
        ObservationKind.PROCESS_STOPPED,
        ObservationKind.SESSION_EXPIRED,
        ObservationKind.LEADER_MOVED,
        ObservationKind.ISR_SHRANK,
    }
    assert sim.status.inconclusive_reasons == ()


def test_a_session_that_ends_shortly_before_the_thaw_is_seen_to_end(simulate: Any) -> None:
    sim = simulate([FREEZE | {"duration": "10s"}])
    play(sim)
    assert ObservationKind.SESSION_EXPIRED in kinds(sim, "leader-down")


def test_a_freeze_shorter_than_the_session_leaves_the_broker_registered(simulate: Any) -> None:
    sim = simulate([FREEZE | {"duration": "3s"}])
    play(sim)
    assert kinds(sim, "leader-down") == {ObservationKind.PROCESS_STOPPED}
    assert entry(sim, "leader-down").verified
    fault = entry(sim, "leader-down")
    assert fault.recovered_at - fault.reverted_at < timedelta(seconds=5)


@pytest.mark.parametrize(
    ("session", "seconds", "after"),
    [
        # A third of the session may have passed without a ping.
        (6, 4, 8),
        (6, 3, None),
        # Of a long one, 10 s.
        (60, 50, 62),
        (60, 49, None),
    ],
)
def test_a_session_runs_from_the_last_ping(
    simulate: Any, session: int, seconds: int, after: int | None
) -> None:
    config = {"zookeeper.session.timeout.ms": str(session * 1000)}
    sim = simulate([FREEZE | {"duration": f"{seconds}s"}], kafka={"config": config})
    play(sim)
    fault, told = sim.plan.spec.faults[0], entry(sim, "leader-down")
    ends = None if after is None else told.injected_at + timedelta(seconds=after)
    assert recovery.not_before(fault, told, sim.plan) == ends


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
    assert {one.code for one in sim.status.inconclusive_reasons} == {
        "RevertFailed",
        "OperatorInterrupted",
    }


def healed_late(sim: Any) -> timedelta:
    fault = entry(sim, "leader-down")
    late: timedelta = fault.reverted_at - fault.injected_at - timedelta(seconds=20)
    return late


def test_a_frozen_consumer_stays_who_it_is(simulate: Any) -> None:
    freeze = {"name": "c", "action": "FreezePod", "target": {"role": "Consumer"}, "duration": "5s"}
    sim = simulate([freeze])
    before = {name: pod["metadata"]["uid"] for name, pod in sim.pods.items()}
    play(sim)
    assert {name: pod["metadata"]["uid"] for name, pod in sim.pods.items()} == before
    assert kinds(sim, "c") == {ObservationKind.PROCESS_STOPPED}


def test_a_consumer_frozen_beyond_its_session_is_seen_to_leave(simulate: Any) -> None:
    freeze = {"name": "c", "action": "FreezePod", "target": {"role": "Consumer"}, "duration": "15s"}
    sim = simulate([freeze])
    play(sim)
    [left] = [
        one for one in entry(sim, "c").observations if one.kind is ObservationKind.MEMBER_LEFT
    ]
    [target] = entry(sim, "c").targets
    assert left.subject == target.pod
    assert left.detail == f"group g has no member at {target.ip}"


def test_a_killed_consumer_left_whoever_takes_its_place(simulate: Any) -> None:
    sim = simulate([{"name": "c", "action": "CrashPod", "target": {"role": "Consumer"}}])
    play(sim)
    assert kinds(sim, "c") == {ObservationKind.PROCESS_KILLED, ObservationKind.MEMBER_LEFT}


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
def test_what_is_frozen_keeps_nobody_from_the_next_target(
    simulate: Any, second: dict[str, Any]
) -> None:
    meanwhile = {"name": "next", "startsAfter": {"fault": "leader-down", "event": "Started"}}
    sim = simulate([FREEZE, meanwhile | {"delay": "2s"} | second])
    play(sim)
    fault = entry(sim, "next")
    # A client that asks the frozen broker waits 5 s for it and learns nothing.
    assert fault.injected_at - fault.due_at < timedelta(seconds=3)
    assert not [one for one in sim.status.inconclusive_reasons if "next" in one.message]
