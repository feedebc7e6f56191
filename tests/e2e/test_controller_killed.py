"""The controller is killed in every phase; away across a heal it says so."""

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

INTERRUPTION = timedelta(seconds=12)
"""More than the 10 s by which a heal may be late (docs/concepts/controller.md)."""


def test_killed_in_every_phase_the_run_ends_the_same(
    kubectl: Kubectl, controller: Controller
) -> None:
    run = Run.apply(kubectl, manifest("manifests/sample.yaml", "killed"))
    killed = []
    for phase in PHASES[1:-1]:
        run.reach(phase)
        controller.kill()
        killed.append(phase)
    status = run.finish()
    assert killed == list(PHASES[1:-1])
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    assert run.phases() == list(PHASES)


@pytest.mark.long
def test_away_across_a_heal_the_run_is_inconclusive(
    kubectl: Kubectl, controller: Controller
) -> None:
    run = Run.apply(kubectl, manifest("manifests/sample.yaml", "away"))
    until(
        lambda: run.status.get("faults") and run.status["faults"][0].get("injectedAt"),
        240,
        "the leader's crash injected",
    )
    controller.scale(0)
    injected = datetime.fromisoformat(run.status["faults"][0]["injectedAt"])
    too_late = injected + DOWN_FOR + INTERRUPTION
    try:
        until(lambda: datetime.now(UTC) > too_late, 60, "the time of the heal gone by")
    finally:
        controller.scale(1)
    status = run.finish()
    assert status["verdict"] == "Inconclusive", status
    assert "OperatorInterrupted" in {guard["code"] for guard in status["guards"]}
    assert run.condition("Succeeded")["reason"] == "Inconclusive"
