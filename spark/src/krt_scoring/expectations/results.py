"""The result of one expectation, and how a number is compared with its bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from krt_contract.durations import Duration
from krt_scoring import durations

if TYPE_CHECKING:
    from collections.abc import Mapping

Outcome = Literal["Met", "NotMet", "NotEvaluated"]

OCCURRENCES = {
    "None": "none",
    "Allowed": "only what the settings permit",
    "Required": "at least one, and only what the settings permit",
}
"""What an expectation in one word says."""


class Noun(NamedTuple):
    """What an expectation counts, in words.

    Attributes:
        singular: for one of it.
        plural: for any other number.
    """

    singular: str
    plural: str

    def of(self, number: int) -> str:
        """Return the word that stands behind a number."""
        return self.singular if number == 1 else self.plural


@dataclass(frozen=True, slots=True)
class Result:
    """One expectation and what the evidence shows.

    Attributes:
        expectation: its name, as the path below ``spec.expect``; ``leader-down.leaderChanges``.
        expected: what was expected, in words.
        result: Met, NotMet, or NotEvaluated where the evidence does not show it.
        observed: what was observed, in words.
        numbers: what was observed, as integers (counts; durations in µs).
    """

    expectation: str
    expected: str
    result: Outcome
    observed: str
    numbers: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the scorecard holds it."""
        return {
            "expectation": self.expectation,
            "expected": self.expected,
            "result": self.result,
            "observed": self.observed,
            "numbers": dict(self.numbers),
        }


def not_evaluated(expectation: str, expected: str, cause: str) -> Result:
    """Return the result of an expectation that the evidence does not show."""
    return Result(expectation, expected, "NotEvaluated", cause)


def evaluate_count(  # noqa: PLR0913 (an expectation, its bounds and what was observed)
    expectation: str,
    bounds: Mapping[str, Any],
    value: int,
    what: Noun,
    *,
    at_least: bool = False,
    where: str = "",
) -> Result:
    """Return the result of an expectation about a number.

    Args:
        expectation: its name.
        bounds: ``min`` and ``max``, either may be missing.
        value: the observed number.
        what: what it counts.
        at_least: more may have happened unobserved, so a number that is not too large proves
            nothing.
        where: what it was observed on, in words.
    """
    low, high = bounds.get("min"), bounds.get("max")
    observed = f"{value} {what.of(value)}{': ' + where if where else ''}"
    numbers = {"value": value}
    if high is not None and value > high:
        return Result(expectation, count_bounds(bounds, what), "NotMet", observed, numbers)
    if at_least and (high is not None or (low is not None and value < low)):
        missed = f"at least {observed}; some states were not recorded"
        return Result(expectation, count_bounds(bounds, what), "NotEvaluated", missed, numbers)
    met = low is None or value >= low
    return Result(
        expectation, count_bounds(bounds, what), "Met" if met else "NotMet", observed, numbers
    )


def evaluate_duration(
    expectation: str, bounds: Mapping[str, Any], value: int, least: int | None = None
) -> Result:
    """Return the result of an expectation about a duration of ``value`` µs.

    Args:
        expectation: its name.
        bounds: ``min`` and ``max``, either may be missing.
        value: the observed duration; its upper bound where ``least`` is given.
        least: its lower bound, of a duration that was not observed exactly.
    """
    low, high = (_micros(bounds.get(key)) for key in ("min", "max"))
    shortest = value if least is None else least
    met = (low is None or shortest >= low) and (high is None or value <= high)
    missed = (low is not None and value < low) or (high is not None and shortest > high)
    result: Outcome = "Met" if met else "NotMet" if missed else "NotEvaluated"
    observed = durations.show(value)
    if shortest < value:
        observed = f"between {durations.show(shortest)} and {observed}"
    expected = _between(bounds.get("min"), bounds.get("max"))
    return Result(expectation, expected, result, observed, {"value": value})


def duration_bounds(bounds: Mapping[str, Any]) -> str:
    """Return bounds of a duration in words."""
    return _between(bounds.get("min"), bounds.get("max"))


def evaluate_occurrence(
    expectation: str, word: str, count: int, not_permitted: int, observed: str
) -> Result:
    """Return the result of an expectation in one word.

    Args:
        expectation: its name.
        word: None, Allowed or Required.
        count: how often it occurred.
        not_permitted: how often of these no setting permits it.
        observed: what was observed, in words.
    """
    met = {
        "None": count == 0,
        "Allowed": not_permitted == 0,
        "Required": count > 0 and not_permitted == 0,
    }[word]
    numbers = {"value": count, "notPermitted": not_permitted}
    return Result(expectation, OCCURRENCES[word], "Met" if met else "NotMet", observed, numbers)


def count_bounds(bounds: Mapping[str, Any], what: Noun) -> str:
    """Return bounds of a count in words: ``at least 1 leader change``, ``no leader changes``."""
    if bounds.get("min") is None and bounds.get("max") == 0:
        return f"no {what.plural}"
    last = bounds["min"] if bounds.get("max") is None else bounds["max"]
    return f"{_between(bounds.get('min'), bounds.get('max'))} {what.of(last)}"


def _between(low: Any, high: Any) -> str:
    if low is None:
        return f"at most {high}"
    if high is None:
        return f"at least {low}"
    return f"exactly {low}" if low == high else f"{low} to {high}"


def _micros(text: str | None) -> int | None:
    return None if text is None else Duration.parse(text).micros
