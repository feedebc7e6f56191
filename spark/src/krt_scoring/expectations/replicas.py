"""Expectations about the ISRs of the tested partitions during a fault."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from krt_scoring.expectations.leadership import END_UNOBSERVED, NO_STATES, since
from krt_scoring.expectations.results import (
    Noun,
    Result,
    count_bounds,
    duration_bounds,
    evaluate_count,
    evaluate_duration,
    not_evaluated,
)
from krt_scoring.metrics.partition_states import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_scoring.expectations.fault_span import FaultSpan
    from krt_scoring.metrics.partition_states import States
    from krt_scoring.metrics.recovery import Recovery

SHRANK = Noun("partition whose ISR shrank", "partitions whose ISR shrank")


def evaluate(
    expect: Mapping[str, Any], span: FaultSpan, states: States, recoveries: Sequence[Recovery]
) -> Iterator[Result]:
    """Yield the results of the expectations about ISRs within a fault's span.

    Args:
        expect: an entry of ``spec.expect.faults``.
        span: the fault and the time.
        states: the states of the tested partitions.
        recoveries: of all faults.
    """
    start, end = span.start, span.end
    shrinks = [
        (place, after.at)
        for place, before, after in states.changes(start, end)
        if since(after, start) and set(before.isr) - set(after.isr)
    ]
    if bounds := expect.get("isrShrinks"):
        expectation, what = f"{span.name}.isrShrinks", SHRANK
        places = {place for place, _ in shrinks}
        if states.known:
            missed = bool(states.missed(start, end) - places)
            yield evaluate_count(
                expectation, bounds, len(places), what, at_least=missed, where=names(places)
            )
        else:
            yield not_evaluated(expectation, count_bounds(bounds, what), NO_STATES)
    if bounds := expect.get("isrShrinkAfter"):
        expectation = f"{span.name}.isrShrinkAfter"
        if shrinks:
            # Polled, an ISR that shrank and grew again before was not seen.
            least = 0 if states.observed else None
            first = min(at for _, at in shrinks) - start
            yield evaluate_duration(expectation, bounds, first, least)
        elif states.unobserved(end):
            yield not_evaluated(expectation, duration_bounds(bounds), END_UNOBSERVED)
        elif states.known and states.observed:
            cause = "no ISR was seen to shrink; one that grew again at once would not be seen"
            yield not_evaluated(expectation, duration_bounds(bounds), cause)
        elif states.known:
            yield Result(expectation, duration_bounds(bounds), "NotMet", "no ISR shrank")
        else:
            yield not_evaluated(expectation, duration_bounds(bounds), NO_STATES)
    if bounds := expect.get("isrRestoredAfter"):
        yield _restored(f"{span.name}.isrRestoredAfter", bounds, span, recoveries, states)


def _restored(
    expectation: str,
    bounds: Mapping[str, Any],
    span: FaultSpan,
    recoveries: Sequence[Recovery],
    states: States,
) -> Result:
    if not states.known:
        return not_evaluated(expectation, duration_bounds(bounds), NO_STATES)
    if states.unobserved(span.end):
        return not_evaluated(expectation, duration_bounds(bounds), END_UNOBSERVED)
    for recovery in recoveries:
        if recovery.fault != span.name:
            continue
        if recovery.isr_restored_at is None:
            return Result(
                expectation, duration_bounds(bounds), "NotMet", "an ISR was never complete again"
            )
        after = recovery.isr_restored_at - recovery.reverted_at
        least = max(0, states.earliest(recovery.isr_restored_at) - recovery.reverted_at)
        found = evaluate_duration(expectation, bounds, after, min(least, after))
        # Nothing was measured then: it was so before, or all along.
        return found if after else replace(found, observed="every ISR was complete at the revert")
    return not_evaluated(expectation, duration_bounds(bounds), "the fault was not reverted")
