"""Claims on the ISRs of the tested partitions during a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.expectations.leadership import NO_STATES
from krt_scoring.expectations.result import (
    Result,
    between,
    counted,
    span,
    timed,
    unmeasured,
)
from krt_scoring.expectations.states import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence
    from krt_scoring.inputs.fault_windows import FaultWindow


def of_fault(
    expect: Mapping[str, Any], window: FaultWindow, end: int, evidence: Evidence
) -> Iterator[Result]:
    """Yield the results of the claims on ISRs from a fault's injection to ``end``."""
    start = window.injected_at or 0
    shrinks = [
        (place, after.at)
        for place, before, after in evidence.states.changes(start, end)
        if after.at > start and set(before.isr) - set(after.isr)
    ]
    if bounds := expect.get("isrShrinks"):
        claim, what = f"{window.name}.isrShrinks", "partitions whose ISR lost a member"
        places = {place for place, _ in shrinks}
        if evidence.states.known:
            missed = bool(evidence.states.missed(start, end) - places)
            yield counted(claim, bounds, len(places), what, at_least=missed, where=names(places))
        else:
            yield unmeasured(claim, between(bounds, what), NO_STATES)
    if bounds := expect.get("isrShrinkAfter"):
        claim = f"{window.name}.isrShrinkAfter"
        if shrinks:
            yield timed(claim, bounds, min(at for _, at in shrinks) - start)
        elif evidence.states.known:
            yield Result(claim, span(bounds), "NotMet", "no ISR lost a member")
        else:
            yield unmeasured(claim, span(bounds), NO_STATES)
    if bounds := expect.get("isrRestoredAfter"):
        yield _whole(f"{window.name}.isrRestoredAfter", bounds, window, evidence)


def _whole(
    claim: str, bounds: Mapping[str, Any], window: FaultWindow, evidence: Evidence
) -> Result:
    for recovery in evidence.recoveries:
        if recovery.fault != window.name:
            continue
        if recovery.isr_restored_at is None:
            return Result(claim, span(bounds), "NotMet", "an ISR was never whole again")
        return timed(claim, bounds, recovery.isr_restored_at - recovery.reverted_at)
    return unmeasured(claim, span(bounds), "the fault was not reverted")
