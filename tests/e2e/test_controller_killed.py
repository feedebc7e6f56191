"""The controller is killed in every phase; away across a heal it says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kit.run import PHASES, Run, manifest
from kit.wait import until

if TYPE_CHECKING:
    from kit.controller import Controller
    from kit.kubectl import Kubectl

pytestmark = pytest.mark.e2e


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
    healed_at_the_latest = 20 + 10 + 5
    try:
        # The heal is due 20 s after the injection; more than 10 s late is an interruption.
        with pytest.raises(AssertionError):
            until(lambda: None, healed_at_the_latest, "the time of the heal gone by")
    finally:
        controller.scale(1)
    status = run.finish()
    assert status["verdict"] == "Inconclusive", status
    assert "OperatorInterrupted" in {guard["code"] for guard in status["guards"]}
    assert run.condition("Succeeded")["reason"] == "Inconclusive"
