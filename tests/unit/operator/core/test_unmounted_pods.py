"""Pods whose volumes kubelet could not mount at its first try, in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.operator.doubles.kubelets import BACK_OFF

from krt_contract.labels import ANNOTATION_MOUNT_RETRIED
from krt_operator.errors import RefusedError

if TYPE_CHECKING:
    from tests.unit.operator.doubles.world import World


@pytest.mark.parametrize("pod", ["t-preflight-read", "t-kafka-1-0", "t-consumer-c-0", "t-recorder"])
def test_kubelet_tries_again_before_its_back_off(world: World, pod: str) -> None:
    world.unmounted = {pod}
    engine = world.controller()
    while ("Pod", pod) not in world.objects:
        world.tick(engine.run_once("t") or 0.01)
    created, uid = world.time, world.objects["Pod", pod]["metadata"]["uid"]
    while world.objects["Pod", pod]["status"]["phase"] == "Pending":
        world.tick(min(engine.run_once("t") or 0.01, 1.0))
    assert world.time - created < BACK_OFF / 2
    meta = world.objects["Pod", pod]["metadata"]
    assert meta["uid"] == uid
    assert ANNOTATION_MOUNT_RETRIED in meta["annotations"]
    assert world.run(controller=engine)["verdict"] == "Passed"


def test_no_other_pod_is_annotated(world: World) -> None:
    world.unmounted = {"t-consumer-c-0"}
    assert world.run(until="Injecting")["phase"] == "Injecting"
    annotated = {
        name
        for (kind, name), obj in world.objects.items()
        if kind == "Pod" and ANNOTATION_MOUNT_RETRIED in obj["metadata"].get("annotations", {})
    }
    assert annotated == {"t-consumer-c-0"}


def test_policy_that_refuses_the_annotation_delays_the_pod_alone(world: World) -> None:
    pod = "t-consumer-c-0"
    world.unmounted = {pod}
    refused: list[str] = []

    def refuse(verb: str, _kind: str, name: str) -> Exception | None:
        if verb != "annotate":
            return None
        refused.append(name)
        return RefusedError("HTTP 403: denied by policy")

    world.answers = refuse
    status = world.run()
    assert status["verdict"] == "Passed"
    assert set(refused) == {pod}
    assert "reconcileFailure" not in status
