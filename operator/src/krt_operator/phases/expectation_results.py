"""How the claims of `spec.expect` fared: the condition ExpectationsMet, apart from the verdict."""

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
    from krt_operator.engine.ports import Change

ERROR: Final = "error"
"""The claim that a test cannot be run, the only one that needs no scoring."""


def judged(told: Any, at: datetime) -> tuple[Change, ...]:
    """The changes that note what the scoring found; none where nothing was claimed.

    Args:
        told: `claims` of the driver's termination message: `{held, notMet, notEvaluated}`.
        at: when it was read.
    """
    if not isinstance(told, dict):
        return ()
    return _noted(
        ExpectationResults(
            met=int(told.get("met", 0)),
            not_met=_names(told.get("notMet") or ()),
            not_evaluated=_names(told.get("notEvaluated") or ()),
        ),
        at,
    )


def not_run(spec: Spec, reason: str, at: datetime) -> tuple[Change, ...]:
    """The changes for a test that could not be run: as expected where that was the claim."""
    if spec.expect == Expect():
        return ()
    wanted = spec.expect.error
    if wanted is None:
        return unscored(spec, at)
    held = wanted == reason
    return _noted(ExpectationResults(met=int(held), not_met=() if held else (ERROR,)), at)


def unscored(spec: Spec, at: datetime) -> tuple[Change, ...]:
    """The change for a test whose evidence was not judged; none where nothing was claimed."""
    if spec.expect == Expect():
        return ()
    told = "the evidence was not judged, so no claim of spec.expect was held against it"
    return (
        journal.say(
            ConditionType.EXPECTATIONS_MET, ConditionStatus.UNKNOWN, "NotEvaluated", told, at=at
        ),
    )


def _names(found: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(one) for one in found)[:MAX_EXPECTATIONS_NAMED]


def _noted(results: ExpectationResults, at: datetime) -> tuple[Change, ...]:
    if results.not_met:
        status, reason = ConditionStatus.FALSE, "NotMet"
        told = f"not met: {', '.join(results.not_met)}"
    elif results.not_evaluated:
        status, reason = ConditionStatus.UNKNOWN, "NotEvaluated"
        told = f"not evaluated: {', '.join(results.not_evaluated)}"
    else:
        status, reason = ConditionStatus.TRUE, "AllMet"
        told = f"every expectation of spec.expect is met ({results.met})"
    return (
        journal.put(expectation_results=results),
        journal.say(ConditionType.EXPECTATIONS_MET, status, reason, told, at=at),
    )
