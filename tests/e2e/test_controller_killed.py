"""The controller is killed in every phase and under a fault; away across a revert it says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from kit.run import PHASES, Run, manifest
from kit.wait import until

if TYPE_CHECKING:
    from kit.controller import Controller
    from kit.kubectl import Kubectl

pytestmark = pytest.mark.e2e

DOWN_FOR = timedelta(seconds=20)
"""How long the sample's fault is held."""

ROOM = {"delay": "20s", "duration": "30s"}
"""Times of the fault under which a controller is killed. Its successor may land on a node that has
to read the image from disk: 10 to 12 s were measured from the kill to its first pass, 17 s once,
and the 5 s of the sample's delay with the 10 s by which a fault may be late are less than that."""

INTERRUPTION = timedelta(seconds=12)
"""More than the 10 s by which a revert may be late (docs/concepts/controller.md)."""


def test_killed_in_every_phase_the_run_ends_the_same(
    kubectl: Kubectl, controller: Controller
) -> None:
    resource = manifest("manifests/sample.yaml", "killed")
    resource["spec"]["faults"][0] |= ROOM
    run = Run.apply(kubectl, resource)
    killed = []
    for phase in PHASES[1:-1]:
        run.reach(phase)
        controller.kill()
        killed.append(phase)
        if phase == "Injecting":
            _while_held(run, controller)
    status = run.finish()
    assert killed == list(PHASES[1:-1])
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    assert run.phases() == list(PHASES)


def _while_held(run: Run, controller: Controller) -> None:
    """Kill the controller once more when the fault is under way."""
    until(lambda: _injected(run), 60, "the fault injected")
    controller.kill()


def _injected(run: Run) -> str | None:
    """Return when the fault was injected; None before."""
    faults = run.status.get("faults") or [{}]
    when: str | None = faults[0].get("injectedAt")
    return when


@pytest.mark.long
def test_away_across_a_heal_the_run_is_inconclusive(
    kubectl: Kubectl, controller: Controller
) -> None:
    run = Run.apply(kubectl, manifest("manifests/sample.yaml", "away"))
    injected = datetime.fromisoformat(
        until(lambda: _injected(run), 240, "the leader's crash injected")
    )
    controller.scale(0)
    too_late = injected + DOWN_FOR + INTERRUPTION
    try:
        until(lambda: datetime.now(UTC) > too_late, 60, "the time of the revert gone by")
    finally:
        controller.scale(1)
    status = run.finish()
    assert status["verdict"] == "Inconclusive", status
    assert "OperatorInterrupted" in {guard["code"] for guard in status["inconclusiveReasons"]}
    assert run.condition("Succeeded")["reason"] == "Inconclusive"
