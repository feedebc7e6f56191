"""Around a run: waiting for a turn, going after a while, a controller that is uninstalled."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from kit.controller import RELEASE
from kit.run import ROOT, Run, small
from kit.wait import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kit.controller import Controller
    from kit.kubectl import Kubectl

pytestmark = pytest.mark.e2e


def _deploy(*arguments: str) -> None:
    subprocess.run(["hack/deploy", *arguments], cwd=ROOT, check=True, timeout=240)


@pytest.fixture
def as_before() -> Iterator[None]:
    """Give the cluster back with the chart installed as the other tests expect it."""
    yield
    _deploy()


def _gone(kubectl: Kubectl, run: Run) -> bool:
    return kubectl("get", "krt", run.name, "--ignore-not-found") == ""


def test_a_finished_test_goes_after_its_time(kubectl: Kubectl) -> None:
    # The shortest way to an end: a claim that is not there.
    spec = {"evidence": {"claimName": "nowhere"}, "ttlSecondsAfterFinished": 5}
    run = Run.apply(kubectl, small("brief", **spec))
    run.finish(60)
    until(lambda: _gone(kubectl, run), 60, "the finished test deleted")
    assert not run.left()


@pytest.mark.usefixtures("as_before")
def test_the_next_in_the_queue_waits_for_its_turn(kubectl: Kubectl) -> None:
    _deploy("--set", "maxConcurrentTests=1")
    first = Run.apply(kubectl, small("first"))
    first.reach("Provisioning")
    second = Run.apply(kubectl, small("second"))
    until(
        lambda: second.condition("Provisioned").get("reason") == "Queued",
        30,
        lambda: f"second queued: {second.status}",
    )
    assert second.status["phase"] == "Pending"
    assert "1 ahead in the queue" in second.condition("Provisioned")["message"]
    kubectl("patch", "krt", first.name, "--type=merge", "-p", '{"spec":{"abort":true}}')
    second.reach("Provisioning", 90)
    assert first.status["phase"] in ("CleaningUp", "Aborted")


@pytest.mark.usefixtures("as_before")
def test_an_uninstalled_controller_leaves_nothing_that_cannot_be_deleted(
    kubectl: Kubectl, controller: Controller
) -> None:
    run = Run.apply(kubectl, small("orphan"))
    run.reach("Warmup")
    assert kubectl.get("krt", run.name)["metadata"]["finalizers"]
    namespace = controller.kubectl.namespace
    subprocess.run(
        ["helm", "uninstall", RELEASE, "--namespace", namespace, "--wait", "--timeout", "120s"],
        check=True,
        timeout=150,
    )
    assert not kubectl.get("krt", run.name)["metadata"].get("finalizers")
    kubectl("delete", "krt", run.name, "--wait", "--timeout=60s")
    until(lambda: not run.left(), 60, lambda: f"all of it collected; left: {run.left()}")
