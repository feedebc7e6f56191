"""The controller changes, signals, evicts and deletes what belongs to its test, nothing else."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.operator.disturbed.memoized import memoized
from tests.unit.operator.disturbed.playing import Recording, play
from tests.unit.operator.disturbed.scenarios import BY_NAME
from tests.unit.operator.disturbed.trespass import ELSE, Plant, Trick
from tests.unit.operator.doubles.kubelets import TEST

from krt_contract.labels import KIND

if TYPE_CHECKING:
    from tests.unit.operator.doubles.world import World

RUNS = ("crash", "delete", "evict", "freeze", "lose disk", "compare replicas", "abort")
PHASES = ("", "Provisioning", "Warmup", "Injecting", "Draining", "Scoring", "CleaningUp")
PLANTS = st.builds(
    Plant, st.sampled_from(Trick), st.sampled_from(PHASES), st.integers(min_value=0, max_value=99)
)


@cache
def names_of(run: str) -> list[tuple[str, str]]:
    """Kinds and names of what a run creates for itself."""
    created = Recording.of(BY_NAME[run]).end.facts["created"]
    return sorted(key for key in created if key[0] != KIND and key[1] != "krt-evidence")


def played(run: str, plants: list[Plant]) -> World:
    """The world after a run with these objects in its way."""
    scenario, left = BY_NAME[run], list(plants)

    def user(world: World) -> None:
        scenario.user(world)
        phase = world.objects.get((KIND, TEST), {}).get("status", {}).get("phase", "")
        for plant in [plant for plant in left if plant.phase == phase]:
            left.remove(plant)
            plant(world, names_of(run))

    world = scenario.world()
    play(replace(scenario, user=user), world)
    return world


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(RUNS), st.lists(PLANTS, min_size=1, max_size=5))
def test_run_touches_no_object_of_somebody_else(run: str, plants: list[Plant]) -> None:
    with memoized():
        world = played(run, plants)
    assert world.trespasses == []
    assert world.status["phase"] in {"Completed", "Error", "Aborted"}


def test_pod_of_a_stateful_set_that_a_user_replaced_twice_is_left_alone() -> None:
    key = ("StatefulSet", "t-kafka-0")
    plants = [Plant(Trick.RECREATED, phase, key=key) for phase in ("Warmup", "CleaningUp")]
    with memoized():
        world = played("crash", plants)
    assert world.trespasses == []


def test_claim_that_a_pod_of_somebody_else_keeps_does_not_hold_up_the_run() -> None:
    # A copy of the struck broker's pod: it uses the claim that the fault deletes.
    with memoized():
        world = played("lose disk", [Plant(Trick.COPY, "Injecting", key=("Pod", "t-kafka-0-0"))])
    assert world.trespasses == []
    assert world.status["phase"] in {"Completed", "Error"}
    reasons = {reason["code"] for reason in world.status["inconclusiveReasons"]}
    assert "RevertFailed" in reasons


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Pod", "t-recorder"),
        ("Service", "t-kafka-0"),
        ("StatefulSet", "t-zk-1"),
        ("ConfigMap", "t-control"),
        ("PersistentVolumeClaim", "t-kafka-2-data"),
        ("RoleBinding", "t-scoring"),
    ],
)
def test_run_that_needs_a_name_of_somebody_else_says_so(kind: str, name: str) -> None:
    with memoized():
        world = played("crash", [Plant(Trick.NAMESAKE, "", key=(kind, name))])
    assert world.trespasses == []
    assert (world.status["phase"], world.status["verdict"]) == ("Error", "Inconclusive")
    provisioned = world.condition("Provisioned")
    assert (provisioned["status"], provisioned["reason"]) == ("False", "NameTaken")
    assert f"{kind} {name} exists already" in provisioned["message"]
    assert "another name" in provisioned["message"]
    left = {key for key in world.objects if key[0] in {"Pod", "StatefulSet", "Service"}}
    assert left <= {(kind, name)}


def test_copy_of_a_stateful_set_keeps_its_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `trespasses` holds is seen where it is: here, of objects told by their labels alone."""
    from krt_operator.engine import reading  # noqa: PLC0415 - replaced below

    key = ("StatefulSet", "t-kafka-0")
    plants = [Plant(trick, "Warmup", key=key) for trick in (Trick.COPY, Trick.FOREIGN_OWNER)]
    with memoized():
        world = played("crash", plants)
        assert world.trespasses == []
        assert ("StatefulSet", "t-kafka-0-copy") in world.objects
        assert ("Pod", "t-kafka-0-copy-0") in world.objects
        monkeypatch.setattr(reading, "owned_by", lambda objects, _uid: objects)
        monkeypatch.setattr(reading, "pods_of", lambda pods, *_: pods)
        world = played("crash", plants)
    assert any("t-kafka-0-copy" in trespass for trespass in world.trespasses)
    assert any("t-kafka-0-else" in trespass for trespass in world.trespasses)
    assert world.roots[ELSE] == ""
