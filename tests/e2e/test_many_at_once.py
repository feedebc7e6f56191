"""Four tests are applied at once, in two namespaces: they start one by one, and each is judged."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from kit.run import PHASES, Run, small

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.alone]

CONSUMER = {"role": "Consumer", "count": 1}
FAULTS: dict[str, dict[str, Any]] = {
    "crashed": {
        "action": "CrashPod",
        "target": {"role": "Producer", "count": 1},
        "duration": "5s",
    },
    "deleted": {"action": "DeletePod", "target": CONSUMER, "duration": "5s"},
    "frozen": {"action": "FreezePod", "target": {"role": "Broker"}, "duration": "5s"},
    "killed": {"action": "CrashPod", "target": CONSUMER, "duration": "5s"},
}
"""A fault for each test, by the name of both."""

TRAFFIC = {
    "producers": [
        {"name": name, "topic": "foo", "recordsPerSecond": 25} for name in ("first", "second")
    ],
    "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
}
"""One producer goes on while the other one is down: a fault without sends shows nothing."""

WITHIN = 1200
"""Seconds for all four: they start one after another, and two cores score them."""


@pytest.fixture(scope="module")
def runs(module_kubectl: Kubectl, other_kubectl: Kubectl) -> list[Run]:
    """The four runs, finished; two in each namespace."""
    applied = [
        Run.apply(
            module_kubectl if at % 2 else other_kubectl,
            small(name, traffic=TRAFFIC, faults=[{"name": name, "delay": "1s", **fault}]),
        )
        for at, (name, fault) in enumerate(FAULTS.items())
    ]
    for run in applied:
        run.finish(WITHIN)
    return applied


def _began(run: Run, phase: str) -> datetime:
    """When a run entered a phase."""
    (entered,) = (each["startTime"] for each in run.status["phases"] if each["name"] == phase)
    return datetime.fromisoformat(entered)


def test_four_tests_start_one_after_another(runs: list[Run]) -> None:
    in_order = sorted(runs, key=lambda run: _began(run, "Provisioning"))
    for before, after in pairwise(in_order):
        assert _began(before, "Warmup") < _began(after, "Provisioning")


def test_four_tests_do_not_wait_for_the_end_of_another(runs: list[Run]) -> None:
    first = min(runs, key=lambda run: _began(run, "Provisioning"))
    others = [run for run in runs if run is not first]
    assert any(_began(run, "Warmup") < _began(first, "CleaningUp") for run in others)


@pytest.mark.parametrize("name", FAULTS)
def test_each_of_four_tests_reaches_its_own_verdict(runs: list[Run], name: str) -> None:
    (run,) = (run for run in runs if run.name == name)
    status = run.status
    assert run.phases() == list(PHASES)
    assert status["verdict"] in ("Passed", "Degraded"), status["summary"]
    (fault,) = status["faults"]
    assert (fault["name"], fault["state"], fault["verified"]) == (name, "Reverted", True)
    assert status["ledger"]["acked"] > 0
    assert status["ledger"]["lost"] == 0
