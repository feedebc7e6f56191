"""The condition ExpectationsMet: by what scoring found, or by the reason of a failed setup."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World

SCORED = {"verdict": "Degraded", "score": 40.0, "summary": "lost", "ledger": {"acked": 7}}


def scored(**results: Any) -> tuple[int, str]:
    return (0, json.dumps(SCORED | {"expectationResults": results}))


@pytest.mark.parametrize(
    ("results", "status", "reason", "says"),
    [
        ({"met": 2}, "True", "AllMet", "(2)"),
        ({"met": 2, "notMet": ["loss"], "notEvaluated": ["hosts"]}, "False", "NotMet", "loss"),
        ({"met": 2, "notEvaluated": ["hosts"]}, "Unknown", "NotEvaluated", "hosts"),
    ],
)
def test_expectation_results_are_independent_of_the_verdict(
    make_world: Callable[..., World], results: dict[str, Any], status: str, reason: str, says: str
) -> None:
    world = make_world(expect={"loss": "Required"})
    world.result = scored(**results)
    found = world.run()
    condition = world.condition("ExpectationsMet")
    assert (condition["status"], condition["reason"]) == (status, reason)
    assert says in condition["message"]
    assert (found["verdict"], found["expectationResults"]["met"]) == ("Degraded", 2)
    assert found["expectationResults"].get("notMet", []) == results.get("notMet", [])


def test_expectation_results_without_expectations_are_absent(world: World) -> None:
    status = world.run()
    assert "ExpectationsMet" not in {one["type"] for one in status["conditions"]}
    assert "expectationResults" not in status


def test_expectation_results_with_failed_scoring_are_unknown(
    make_world: Callable[..., World],
) -> None:
    world = make_world(expect={"loss": "None"})
    world.result = (2, "the plan cannot be used")
    world.run()
    condition = world.condition("ExpectationsMet")
    assert (condition["status"], condition["reason"]) == ("Unknown", "NotEvaluated")


@pytest.mark.parametrize(
    ("expect", "status", "reason"),
    [
        ({"error": "TooFewNodes"}, "True", "AllMet"),
        ({"error": "TooFewZones"}, "False", "NotMet"),
        ({"loss": "None"}, "Unknown", "NotEvaluated"),
    ],
)
def test_expectation_results_with_setup_failure_compare_the_reason(
    make_world: Callable[..., World], expect: dict[str, str], status: str, reason: str
) -> None:
    world = make_world(expect=expect)
    world.nodes = world.nodes[:4]
    assert world.run()["phase"] == "Error"
    condition = world.condition("ExpectationsMet")
    assert (condition["status"], condition["reason"]) == (status, reason)


@pytest.mark.parametrize("expect", [{"loss": "None"}, {"error": "TooFewNodes"}])
def test_expectation_results_of_an_aborted_test_are_unknown(
    make_world: Callable[..., World], expect: dict[str, str]
) -> None:
    world = make_world(expect=expect)
    world.run(until="Injecting")
    world.test["spec"]["abort"] = True
    assert world.run()["phase"] == "Aborted"
    condition = world.condition("ExpectationsMet")
    assert (condition["status"], condition["reason"]) == ("Unknown", "NotEvaluated")


def test_expectation_results_without_expectations_are_absent_of_an_aborted_test(
    world: World,
) -> None:
    world.run(until="Injecting")
    world.test["spec"]["abort"] = True
    conditions = world.run()["conditions"]
    assert "ExpectationsMet" not in {one["type"] for one in conditions}
