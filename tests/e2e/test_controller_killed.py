"""The controller is killed in every phase and during a fault, or unavailable across a revert."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from kit.run import PHASES, Run, manifest
from kit.wait import wait_until

if TYPE_CHECKING:
    from kit.controller import Controller
    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

DURATION = timedelta(seconds=20)
"""How long the sample's fault lasts."""

TIMES = {"delay": "20s", "duration": "30s"}
"""Times of the fault under which a controller is killed. Its successor may land on a node that has
to read the image from disk: 10 to 12 s were measured from the kill to its first pass, 17 s once,
and the 5 s of the sample's delay with the 10 s by which a fault may be late are less than that."""

INTERRUPTION = timedelta(seconds=12)
"""More than the 10 s by which a revert may be late (docs/concepts/controller.md)."""


def test_controller_killed_in_every_phase_run_passes(
    kubectl: Kubectl, controller: Controller
) -> None:
    resource = manifest("manifests/sample.yaml", "killed")
    resource["spec"]["faults"][0] |= TIMES
    run = Run.apply(kubectl, resource)
    killed = []
    for phase in PHASES[1:-1]:
        run.reach(phase)
        controller.kill()
        killed.append(phase)
        if phase == "Injecting":
            _kill_while_active(run, controller)
    status = run.finish()
    assert killed == list(PHASES[1:-1])
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    assert run.phases() == list(PHASES)


def _kill_while_active(run: Run, controller: Controller) -> None:
    """Kill the controller once more while the fault is active."""
    wait_until(lambda: _injected(run), 60, "the fault injected")
    controller.kill()


def _injected(run: Run) -> str | None:
    """Return when the fault was injected; None before."""
    faults = run.status.get("faults") or [{}]
    when: str | None = faults[0].get("injectedAt")
    return when


@pytest.mark.long
def test_controller_unavailable_across_a_revert_run_is_inconclusive(
    kubectl: Kubectl, controller: Controller
) -> None:
    run = Run.apply(kubectl, manifest("manifests/sample.yaml", "unavailable"))
    injected = datetime.fromisoformat(
        wait_until(lambda: _injected(run), 240, "the leader's crash injected")
    )
    controller.scale(0)
    too_late = injected + DURATION + INTERRUPTION
    try:
        wait_until(lambda: datetime.now(UTC) > too_late, 60, "the time of the revert gone by")
    finally:
        controller.scale(1)
    status = run.finish()
    assert status["verdict"] == "Inconclusive", status
    assert "OperatorInterrupted" in {reason["code"] for reason in status["inconclusiveReasons"]}
    assert run.condition("Succeeded")["reason"] == "Inconclusive"
