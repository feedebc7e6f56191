"""A run whose pods get NetworkPolicies, and that one whose pods get none makes no call for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.operator.doubles.world import SETTINGS, WITH_POLICIES, World

from krt_operator.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_operator.app.settings import Settings

KIND = "NetworkPolicy"
POLICIES = {
    f"t-{subject}" for subject in ("default-deny", "kafka", "zookeeper", "scoring", "metrics")
}


def passes(world: World, settings: Settings, until: str = "") -> list[tuple[set[str], set[str]]]:
    """Run, and return the names of policies and pods after each pass."""
    engine, seen = world.controller(settings), []
    while world.status.get("phase") not in {"Completed", "Error", until}:
        world.tick(engine.run_once("t") or 0.01)
        seen.append((world.names_of(KIND), world.names_of("Pod")))
    return seen


def test_policies_are_there_from_before_the_first_pod_until_after_the_last(world: World) -> None:
    seen = passes(world, WITH_POLICIES)
    assert world.status["phase"] == "Completed"
    with_pods = [policies for policies, pods in seen if pods - {"t-scoring-1-x"}]
    assert with_pods
    assert all(policies == POLICIES for policies in with_pods)
    assert world.names_of(KIND) == set()


def test_policies_come_before_the_first_pod_is_created(world: World) -> None:
    world.api.log = []
    passes(world, WITH_POLICIES, until="Warmup")
    created = [request.kind for request in world.api.log if request.method == "POST"]
    last = len(created) - created[::-1].index(KIND)
    assert "Pod" not in created[:last]
    assert "StatefulSet" not in created[:last]


def test_cleanup_deletes_policies_after_pods(world: World) -> None:
    world.api.log = []
    world.run(controller=world.controller(WITH_POLICIES))
    deleted = [request.kind for request in world.api.log if request.method == "DELETE"]
    assert set(deleted[deleted.index(KIND) :]) == {KIND}
    assert deleted.count(KIND) == len(POLICIES)


def test_cleanup_with_retain_keeps_policies_with_the_members(
    make_world: Callable[..., World],
) -> None:
    world = make_world(cleanup="Retain")
    assert world.run(controller=world.controller(WITH_POLICIES))["phase"] == "Completed"
    assert world.names_of(KIND) == POLICIES


def test_run_without_policies_makes_no_call_for_them(world: World) -> None:
    world.api.log = []
    assert world.run(controller=world.controller(SETTINGS))["phase"] == "Completed"
    assert not [request for request in world.api.log if request.kind == KIND]


def test_run_whose_policies_are_refused_creates_no_pod(world: World) -> None:
    world.answers = lambda _verb, kind, name: (
        RefusedError("HTTP 403: networkpolicies is forbidden")
        if (kind, name) == (KIND, "t-kafka")
        else None
    )
    engine = world.controller(WITH_POLICIES)
    for _ in range(20):
        try:
            delay = engine.run_once("t")
        except RefusedError:
            delay = 15.0
        world.tick(delay or 0.01)
        assert not world.names_of("Pod") | world.names_of("StatefulSet")
    assert world.status["phase"] == "Error"
    assert "networkpolicies is forbidden" in world.condition("Provisioned")["message"]


def test_policies_of_a_previous_test_are_waited_for(world: World) -> None:
    labels = {"kafkaresilience.dev/test": "t", "kafkaresilience.dev/test-uid": "uid-before"}
    world.put({"kind": KIND, "metadata": {"name": "t-kafka", "labels": labels}})
    engine = world.controller(WITH_POLICIES)
    assert world.run(seconds=20, controller=engine)["phase"] == "Pending"
    assert world.condition("Provisioned")["reason"] == "PreviousTestTerminating"
    del world.objects[KIND, "t-kafka"]
    assert world.run(controller=engine)["phase"] == "Completed"


def test_controller_killed_while_it_writes_policies_completes_them(world: World) -> None:
    left = ["t-zookeeper"]

    def once(verb: str, _kind: str, name: str) -> Exception | None:
        return RuntimeError("killed") if verb == "create" and name in left and left.pop() else None

    world.answers = once
    for _ in range(3):
        try:
            world.tick(world.controller(WITH_POLICIES).run_once("t") or 0.01)
        except RuntimeError:
            assert world.names_of(KIND) < POLICIES
    assert not left
    assert world.names_of(KIND) == POLICIES
