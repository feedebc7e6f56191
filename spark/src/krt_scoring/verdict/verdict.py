"""The verdict: a pure function of violations, reasons and objectives.

Order: Failed (a violation on intact evidence) > Inconclusive > Degraded (an objective missed)
> Passed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from krt_scoring.inputs.reasons import wholly_invalidated

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
        void: violations that rest on missing evidence: anomaly to count.
    """

    verdict: Verdict
    standing: Mapping[str, int]
    reasons: tuple[Reason, ...]
    objectives: tuple[Objective, ...]
    void: Mapping[str, int] = field(default_factory=dict)


def decide(
    violations: Mapping[str, int],
    reasons: Iterable[Reason],
    objectives: Iterable[Objective],
    void: Mapping[str, int] | None = None,
) -> Decision:
    """Return the verdict and what decided it.

    Args:
        violations: anomaly → findings the configuration does not permit.
        reasons: why the run, or part of it, proves nothing.
        objectives: each limit with the measured value.
        void: anomaly → those of its violations that rest on the part of the evidence that a
            reason is about. Of an anomaly that a reason invalidates as a whole, all do.
    """
    reasons, objectives = tuple(reasons), tuple(objectives)
    whole = wholly_invalidated(reasons)
    void_violations = {
        name: violations[name] if name in whole else count
        for name, count in {**dict.fromkeys(whole, 0), **(void or {})}.items()
        if violations.get(name)
    }
    standing_violations = {
        name: count - void_violations.get(name, 0)
        for name, count in sorted(violations.items())
        if count > void_violations.get(name, 0)
    }
    verdict: Verdict = "Passed"
    if standing_violations:
        verdict = "Failed"
    elif reasons:
        verdict = "Inconclusive"
    elif any(not objective.met for objective in objectives):
        verdict = "Degraded"
    void_found = {name: count for name, count in sorted(void_violations.items()) if count}
    return Decision(verdict, standing_violations, reasons, objectives, void_found)
