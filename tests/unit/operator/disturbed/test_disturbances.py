"""A run that is disturbed at any of its calls to the API server ends as if it had not been.

These are samples: `python -m tests.unit.operator.disturbed` plays every call of every run.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.unit.operator.disturbed.disturbances import BY_NAME, KINDS
from tests.unit.operator.disturbed.memoized import memoized
from tests.unit.operator.disturbed.playing import Recording
from tests.unit.operator.disturbed.scenarios import BY_NAME as SCENARIO
from tests.unit.operator.disturbed.scenarios import SCENARIOS, Scenario

from krt_contract.faults import Action
from krt_operator.engine.progress import Deletion
from krt_operator.faults.actions import delete_pod

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = {"killed before": 16, "killed after": 16}
OTHERS = 4
"""Calls of each run that are disturbed, by kind."""


@pytest.fixture(autouse=True)
def _memoized() -> Iterator[None]:
    with memoized():
        yield


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_run_disturbed_at_a_call_ends_the_same(scenario: Scenario) -> None:
    recording = Recording.of(scenario)
    chosen = random.Random(scenario.name)  # noqa: S311 - the same sample each time
    wrong = []
    for kind in KINDS:
        points = recording.points(kind)
        for number in chosen.sample(points, min(SAMPLES.get(kind.name, OTHERS), len(points))):
            differences = recording.disturb(number, kind)
            if differences:
                call = recording.calls[number - 1]
                wrong.append(f"{kind.name} at call {number}, {call}: {differences}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("scenario", "kind", "call"),
    [
        # The pod is gone by the time at which the deletion is known to be injected.
        ("delete", "read timeout, carried out", "PATCH StatefulSet/t-kafka-1"),
        # Consumers have reached ends that an older control does not name.
        ("crash", "stale read", "GET ConfigMap"),
        # After the intent is written, nothing is done for as long as an injection may take.
        ("crash", "read timeout, carried out", "PUT KafkaResilienceTest/t/status"),
        # A member that is to stay seems to run while it is still scaled to 0.
        ("abort, retain", "stale read", "GET StatefulSet"),
        # The StatefulSet has put another pod in the place of the deleted one before it is scaled.
        ("delete", "429 with Retry-After", "PATCH StatefulSet/t-kafka-1"),
        ("abort, retain", "connect timeout", "PATCH StatefulSet/t-kafka-1"),
        # The pod is there as it was, and its deletion must be asked for again.
        ("delete", "409 conflict", "DELETE Pod/t-kafka-1-0"),
    ],
)
def test_run_disturbed_at_each_call_of_a_kind_ends_the_same(
    scenario: str, kind: str, call: str
) -> None:
    """Calls that the samples may miss, and at which runs once ended differently."""
    recording = Recording.of(SCENARIO[scenario])
    points = [
        number
        for number in recording.points(BY_NAME[kind])
        if str(recording.calls[number - 1]) == call
    ]
    assert points
    wrong = {number: recording.disturb(number, BY_NAME[kind]) for number in points}
    assert not {number: found for number, found in wrong.items() if found}


def test_scenarios_inject_every_action_of_a_fault_once() -> None:
    actions = {
        fault["action"] for scenario in SCENARIOS for fault in scenario.spec.get("faults", ())
    }
    assert actions == set(Action)


@pytest.mark.parametrize("name", ["crash", "freeze", "lose disk", "rolling restart"])
def test_run_undisturbed_verifies_every_fault(name: str) -> None:
    facts = Recording.of(SCENARIO[name]).end.facts
    assert (facts["phase"], facts["verdict"], facts["reasons"]) == ("Completed", "Passed", [])
    assert {state for state, *_ in facts["faults"].values()} == {"Reverted"}
    assert all(verified for _, verified, *_ in facts["faults"].values())
    assert set(facts["injected"].values()) == {1}


def test_fault_without_precondition_is_found_injected_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the samples look for is seen where it is."""

    def by_name_only(kind: str, name: str, _uid: str, grace: int | None) -> Deletion:
        return Deletion(kind, name, None, grace)

    monkeypatch.setattr(delete_pod, "Deletion", by_name_only)
    recording = Recording.of(SCENARIO["delete"])
    kind = BY_NAME["read timeout, carried out"]
    deletions = [
        number
        for number in recording.points(kind)
        if str(recording.calls[number - 1]) == "DELETE Pod/t-kafka-1-0"
    ]
    found = [recording.disturb(number, kind) for number in deletions]
    assert any("injected" in difference for differences in found for difference in differences)
