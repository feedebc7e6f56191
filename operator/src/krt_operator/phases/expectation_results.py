"""The condition ExpectationsMet: how `spec.expect` was evaluated, apart from the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from krt_operator.api.expect import Expect
from krt_operator.api.status import (
    MAX_EXPECTATIONS_NAMED,
    ConditionStatus,
    ConditionType,
    ExpectationResults,
)
from krt_operator.engine import journal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.spec import Spec
    from krt_operator.engine.progress import Change

ERROR: Final = "error"
"""The expectation that a test cannot be run, the only one that needs no scoring."""


def evaluated(results: Any, at: datetime) -> tuple[Change, ...]:
    """The changes for what scoring evaluated; none where the test has no expectations.

    Args:
        results: `expectationResults` of the driver's termination message:
            `{met, notMet, notEvaluated}`.
        at: when the message was read.
    """
    if not isinstance(results, dict):
        return ()
    return _record(
        ExpectationResults(
            met=int(results.get("met", 0)),
            not_met=_names(results.get("notMet") or ()),
            not_evaluated=_names(results.get("notEvaluated") or ()),
        ),
        at,
    )


def not_run(spec: Spec, reason: str, at: datetime) -> tuple[Change, ...]:
    """The changes for a test that could not be run: met where that is the expectation."""
    if spec.expect == Expect():
        return ()
    if spec.expect.error is None:
        return not_scored(spec, at)
    met = spec.expect.error == reason
    return _record(ExpectationResults(met=int(met), not_met=() if met else (ERROR,)), at)


def not_scored(spec: Spec, at: datetime) -> tuple[Change, ...]:
    """The change for a test whose evidence was not scored; none without expectations."""
    if spec.expect == Expect():
        return ()
    message = "the evidence was not scored, so no expectation of spec.expect was evaluated"
    return (
        journal.set_condition(
            ConditionType.EXPECTATIONS_MET, ConditionStatus.UNKNOWN, "NotEvaluated", message, at=at
        ),
    )


def _names(found: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(name) for name in found)[:MAX_EXPECTATIONS_NAMED]


def _record(results: ExpectationResults, at: datetime) -> tuple[Change, ...]:
    if results.not_met:
        status, reason = ConditionStatus.FALSE, "NotMet"
        message = f"not met: {', '.join(results.not_met)}"
    elif results.not_evaluated:
        status, reason = ConditionStatus.UNKNOWN, "NotEvaluated"
        message = f"not evaluated: {', '.join(results.not_evaluated)}"
    else:
        status, reason = ConditionStatus.TRUE, "AllMet"
        message = f"every expectation of spec.expect is met ({results.met})"
    return (
        journal.put(expectation_results=results),
        journal.set_condition(ConditionType.EXPECTATIONS_MET, status, reason, message, at=at),
    )
