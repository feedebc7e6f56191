"""The controller is killed before any step of any action, and the end is the same."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.player import LEADER, entry, eventful_steps, play, times

from krt_operator.phases.steps import step


def short_fault(action: str, duration: str, role: str) -> dict[str, Any]:
    target = {"role": role} | ({"topic": "foo", "partition": 0} if role != "Producer" else {})
    return LEADER | {"action": action, "delay": "1s", "duration": duration, "target": target}


def assert_same_end(undisturbed: SimulatedCluster, killed: SimulatedCluster) -> None:
    a, b = entry(undisturbed, "leader-down"), entry(killed, "leader-down")
    assert (b.state, b.targets, b.verified) == (a.state, a.targets, True)
    assert killed.kills == undisturbed.kills
    assert killed.freezes == undisturbed.freezes
    assert killed.frozen == {}
    assert (killed.deleted, killed.evicted) == (undisturbed.deleted, undisturbed.evicted)
    assert killed.wiped == undisturbed.wiped
    assert killed.sets == undisturbed.sets
    assert killed.status.inconclusive_reasons == ()
    at = times(killed, "leader-down")
    assert timedelta() <= at.injected - at.due <= timedelta(seconds=10)
    assert b.recovered_at is not None


@pytest.mark.parametrize(
    ("action", "duration"),
    [(action, duration) for action in ("CrashPod", "DeletePod") for duration in ("0s", "3s")]
    + [("FreezePod", "3s"), ("FreezePod", "8s"), ("EvictPod", "0s"), ("EvictPod", "3s")]
    + [("LoseDisk", "0s"), ("LoseDisk", "3s")],
)
@pytest.mark.parametrize("role", ["PartitionLeader", "Producer"])
def test_controller_killed_before_any_step_ends_the_same(
    action: str, duration: str, role: str
) -> None:
    if action in ("EvictPod", "LoseDisk") and role == "Producer":
        role = "PartitionFollower"
    fault = short_fault(action, duration, role)
    undisturbed = SimulatedCluster([fault])
    steps = eventful_steps(undisturbed)
    assert len(steps) > 10
    for number, at in steps:
        killed = SimulatedCluster([fault])
        play(killed, {number: at})
        assert_same_end(undisturbed, killed)


@settings(max_examples=25, deadline=None)
@given(kills=st.dictionaries(st.integers(0, 15), st.integers(0, 4), min_size=2, max_size=3))
def test_controller_killed_repeatedly_ends_the_same(kills: dict[int, int]) -> None:
    fault = short_fault("CrashPod", "3s", "PartitionLeader")
    undisturbed, killed = SimulatedCluster([fault]), SimulatedCluster([fault])
    play(undisturbed)
    play(killed, kills)
    assert_same_end(undisturbed, killed)


def test_two_controllers_in_one_pass_inject_once() -> None:
    sim = SimulatedCluster([LEADER | {"delay": "0s"}])
    run, observed = sim.run()
    first = step(run, observed, sim.ports())
    second = step(run, observed, sim.ports())
    sim.carry_out(first)
    # The second's status write would conflict; even if it is carried out, its act changes nothing.
    for act in second.side_effects:
        act.perform(sim.ports())
    assert sim.kills == ["t-kafka-0-0"]
