"""How the claims of `spec.expect` fared: the condition ExpectationsMet, apart from the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from krt_operator import journal
from krt_operator.api.expect import Expect
from krt_operator.api.status import MAX_CLAIMS_NAMED, Claims, ConditionStatus, ConditionType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.spec import Spec
    from krt_operator.ports import Change

ERROR: Final = "error"
"""The claim that a test cannot be run, the only one that needs no scoring."""


def judged(told: Any, at: datetime) -> tuple[Change, ...]:
    """The changes that note what the scoring found; none where nothing was claimed.

    Args:
        told: `claims` of the driver's termination message: `{held, notHeld, notMeasured}`.
        at: when it was read.
    """
    if not isinstance(told, dict):
        return ()
    return _noted(
        Claims(
            held=int(told.get("held", 0)),
            not_held=_names(told.get("notHeld") or ()),
            not_measured=_names(told.get("notMeasured") or ()),
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
    return _noted(Claims(held=int(held), not_held=() if held else (ERROR,)), at)


def unscored(spec: Spec, at: datetime) -> tuple[Change, ...]:
    """The change for a test whose evidence was not judged; none where nothing was claimed."""
    if spec.expect == Expect():
        return ()
    told = "the evidence was not judged, so no claim of spec.expect was held against it"
    return (
        journal.say(
            ConditionType.EXPECTATIONS_MET, ConditionStatus.UNKNOWN, "NotMeasured", told, at=at
        ),
    )


def _names(found: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(one) for one in found)[:MAX_CLAIMS_NAMED]


def _noted(claims: Claims, at: datetime) -> tuple[Change, ...]:
    if claims.not_held:
        status, reason = ConditionStatus.FALSE, "NotHeld"
        told = f"did not hold: {', '.join(claims.not_held)}"
    elif claims.not_measured:
        status, reason = ConditionStatus.UNKNOWN, "NotMeasured"
        told = f"not measured: {', '.join(claims.not_measured)}"
    else:
        status, reason = ConditionStatus.TRUE, "AllHeld"
        told = f"every claim of spec.expect held ({claims.held})"
    return (
        journal.put(claims=claims),
        journal.say(ConditionType.EXPECTATIONS_MET, status, reason, told, at=at),
    )
