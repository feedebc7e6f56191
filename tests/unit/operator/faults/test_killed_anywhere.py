"""The controller dies before any step of any action, and the end is the same."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.operator.faults.player import LEADER, entry, eventful, play

from krt_operator.phases.steps import step

SHARED = HealthCheck.function_scoped_fixture
"""The fixtures are classes: every example makes its own cluster of them."""


def short(action: str, down: str, role: str) -> dict[str, Any]:
    target = {"role": role} | ({"topic": "foo", "partition": 0} if role != "Producer" else {})
    return LEADER | {"action": action, "delay": "1s", "duration": down, "target": target}


def assert_same_end(calm: Any, wild: Any) -> None:
    a, b = entry(calm, "leader-down"), entry(wild, "leader-down")
    assert (b.state, b.targets, b.verified) == (a.state, a.targets, True)
    assert wild.kills == calm.kills
    assert wild.freezes == calm.freezes
    assert wild.frozen == {}
    assert (wild.deleted, wild.evicted) == (calm.deleted, calm.evicted)
    assert wild.wiped == calm.wiped
    assert wild.sets == calm.sets
    assert wild.status.inconclusive_reasons == ()
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
    for act in second.side_effects:
        act.perform(sim.ports())
    assert sim.kills == ["t-kafka-0-0"]
