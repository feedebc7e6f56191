"""The verdict: a pure function of violations, reasons and objectives.

Order: Failed (a violation on intact evidence) > Inconclusive > Degraded (an objective missed)
> Passed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from krt_scoring.inputs.reasons import invalidated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krt_scoring.inputs.reasons import Reason
    from krt_scoring.verdict.objectives import Objective

Verdict = Literal["Passed", "Degraded", "Failed", "Inconclusive"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and what decided it.

    Attributes:
        standing: violations whose evidence is intact: anomaly to count.
        reasons: why the run, or part of it, proves nothing.
        objectives: each limit with the measured value.
    """

    verdict: Verdict
    standing: Mapping[str, int]
    reasons: tuple[Reason, ...]
    objectives: tuple[Objective, ...]


def standing(violations: Mapping[str, int], reasons: Iterable[Reason]) -> dict[str, int]:
    """Return the violations whose evidence is intact: anomaly → count, zeros left out."""
    damaged = invalidated(reasons)
    return {
        name: count for name, count in sorted(violations.items()) if count and name not in damaged
    }


def decide(
    violations: Mapping[str, int], reasons: Iterable[Reason], objectives: Iterable[Objective]
) -> Decision:
    """Return the verdict and what decided it.

    Args:
        violations: anomaly → findings the configuration does not permit.
        reasons: why the run, or part of it, proves nothing.
        objectives: each limit with the measured value.
    """
    reasons, objectives = tuple(reasons), tuple(objectives)
    standing_violations = standing(violations, reasons)
    verdict: Verdict = "Passed"
    if standing_violations:
        verdict = "Failed"
    elif reasons:
        verdict = "Inconclusive"
    elif any(not objective.met for objective in objectives):
        verdict = "Degraded"
    return Decision(verdict, standing_violations, reasons, objectives)
