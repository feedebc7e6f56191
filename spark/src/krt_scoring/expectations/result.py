"""What became of one claim, and how a number is held against its bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from krt_contract.durations import Duration
from krt_scoring import durations

if TYPE_CHECKING:
    from collections.abc import Mapping

Outcome = Literal["Met", "NotMet", "NotEvaluated"]


@dataclass(frozen=True, slots=True)
class Result:
    """One claim and what the evidence says of it.

    Attributes:
        claim: its name, as the path below ``spec.expect``; ``leader-down.leaderChanges``.
        expected: what was claimed, in words.
        result: Met, NotMet, or NotEvaluated where the evidence says nothing of it.
        seen: what was found, in words.
        numbers: what was found, as integers (counts; durations in µs).
    """

    claim: str
    expected: str
    result: Outcome
    seen: str
    numbers: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the scorecard holds it."""
        return {
            "expectation": self.claim,
            "expected": self.expected,
            "result": self.result,
            "observed": self.seen,
            "numbers": dict(self.numbers),
        }


def unmeasured(claim: str, expected: str, why: str) -> Result:
    """Return the result of a claim about which the evidence says nothing."""
    return Result(claim, expected, "NotEvaluated", why)


def counted(  # noqa: PLR0913 (a claim, its bounds and what was found)
    claim: str,
    bounds: Mapping[str, Any],
    value: int,
    what: str,
    *,
    at_least: bool = False,
    where: str = "",
) -> Result:
    """Return the result of a claim on a number.

    Args:
        claim: its name.
        bounds: ``min`` and ``max``, either may be missing.
        value: the number found.
        what: what it counts.
        at_least: some may not have been seen, so a number that is not too large proves nothing.
        where: what it was found on, in words.
    """
    low, high = bounds.get("min"), bounds.get("max")
    seen = f"{value} {what}{': ' + where if where else ''}"
    numbers = {"value": value}
    if high is not None and value > high:
        return Result(claim, between(bounds, what), "NotMet", seen, numbers)
    if at_least and (high is not None or (low is not None and value < low)):
        missed = f"at least {seen}; some states were not seen"
        return Result(claim, between(bounds, what), "NotEvaluated", missed, numbers)
    held = low is None or value >= low
    return Result(claim, between(bounds, what), "Met" if held else "NotMet", seen, numbers)


def timed(claim: str, bounds: Mapping[str, Any], value: int) -> Result:
    """Return the result of a claim on a duration of ``value`` µs."""
    low, high = (_micros(bounds.get(key)) for key in ("min", "max"))
    held = (low is None or value >= low) and (high is None or value <= high)
    seen = durations.show(value)
    expected = _between(bounds.get("min"), bounds.get("max"))
    return Result(claim, expected, "Met" if held else "NotMet", seen, {"value": value})


def span(bounds: Mapping[str, Any]) -> str:
    """Return bounds of a duration in words."""
    return _between(bounds.get("min"), bounds.get("max"))


def between(bounds: Mapping[str, Any], what: str) -> str:
    """Return bounds of a count in words: ``at least 1 leaders``, ``no leaders``."""
    if bounds.get("min") is None and bounds.get("max") == 0:
        return f"no {what}"
    return f"{_between(bounds.get('min'), bounds.get('max'))} {what}"


def _between(low: Any, high: Any) -> str:
    if low is None:
        return f"at most {high}"
    if high is None:
        return f"at least {low}"
    return f"exactly {low}" if low == high else f"{low} to {high}"


def _micros(text: str | None) -> int | None:
    return None if text is None else Duration.parse(text).micros
