"""Around a run: the queue, the time to live, and the uninstallation of the controller."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from kit.controller import RELEASE
from kit.run import ROOT, Run, small
from kit.wait import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kit.controller import Controller
    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.alone]


def _deploy(*arguments: str) -> None:
    subprocess.run(["hack/deploy", *arguments], cwd=ROOT, check=True, timeout=240)


@pytest.fixture
def restored_chart() -> Iterator[None]:
    """Install the chart again as the other tests expect it."""
    yield
    _deploy()


def _deleted(kubectl: Kubectl, run: Run) -> bool:
    return kubectl("get", "krt", run.name, "--ignore-not-found") == ""


def test_finished_run_is_deleted_after_its_ttl(kubectl: Kubectl) -> None:
    # The shortest way to an end: a claim that is not there.
    spec = {"evidence": {"claimName": "nowhere"}, "ttlSecondsAfterFinished": 5}
    run = Run.apply(kubectl, small("brief", **spec))
    run.finish(60)
    wait_until(lambda: _deleted(kubectl, run), 60, "the finished test deleted")
    assert not run.remaining()


@pytest.mark.usefixtures("restored_chart")
def test_queued_run_starts_when_the_one_before_ends(kubectl: Kubectl) -> None:
    _deploy("--set", "maxConcurrentTests=1")
    first = Run.apply(kubectl, small("first"))
    first.reach("Provisioning")
    second = Run.apply(kubectl, small("second"))
    wait_until(
        lambda: second.condition("Provisioned").get("reason") == "Queued",
        30,
        lambda: f"second queued: {second.status}",
    )
    assert second.status["phase"] == "Pending"
    assert "tests ahead in the queue: 1" in second.condition("Provisioned")["message"]
    kubectl("patch", "krt", first.name, "--type=merge", "-p", '{"spec":{"abort":true}}')
    second.reach("Provisioning", 90)
    assert first.status["phase"] in ("CleaningUp", "Aborted")


@pytest.mark.long
@pytest.mark.usefixtures("restored_chart")
def test_controller_upgraded_in_the_middle_of_a_run_finishes_it(
    kubectl: Kubectl, controller: Controller
) -> None:
    resource = small("upgraded")
    # The upgrade is over by then.
    resource["spec"]["faults"][0]["delay"] = "60s"
    run = Run.apply(kubectl, resource)
    run.reach("Injecting")
    before = controller.running()["metadata"]["uid"]
    _deploy("--set", "maxConcurrentTests=7")
    assert controller.running()["metadata"]["uid"] != before
    assert run.status["phase"] == "Injecting"
    status = run.finish()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    (fault,) = status["faults"]
    assert (fault["state"], fault["verified"], fault["attempt"]) == ("Reverted", True, 1)


@pytest.mark.usefixtures("restored_chart")
def test_uninstall_removes_finalizers_of_running_tests(
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
    wait_until(
        lambda: not run.remaining(),
        60,
        lambda: f"all objects collected; remaining: {run.remaining()}",
    )
