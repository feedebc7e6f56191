"""Claims on gaps: on how many partitions operations stood still for long during a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.durations import Duration
from krt_scoring import durations
from krt_scoring.expectations.result import (
    Result,
    between,
    counted,
    unmeasured,
)
from krt_scoring.expectations.states import names
from krt_scoring.metrics.operations import READ, WRITE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence
    from krt_scoring.inputs.fault_windows import FaultWindow

DIRECTIONS = {"Writes": WRITE, "Reads": READ}


def of_fault(
    expect: Mapping[str, Any], window: FaultWindow, end: int, evidence: Evidence
) -> Iterator[Result]:
    """Yield the results of ``unavailability`` from a fault's injection to ``end``."""
    for item in expect.get("unavailability") or ():
        yield _one(item, window, end, evidence)


def _one(item: Mapping[str, Any], window: FaultWindow, end: int, evidence: Evidence) -> Result:
    direction, least = DIRECTIONS[item["of"]], Duration.parse(item["longerThan"]).micros
    topic, group = item.get("topic"), item.get("group")
    scope = "".join(f" {word} {value}" for word, value in (("of", topic), ("by", group)) if value)
    claim = f"{window.name}.unavailability {item['of']}{scope} longer than {item['longerThan']}"
    what = "partitions"

    def ours(found_direction: str, found_group: str, found_topic: str) -> bool:
        return (
            found_direction == direction
            and group in (None, found_group)
            and topic in (None, found_topic)
        )

    measured = {
        (one.topic, one.partition)
        for one in evidence.measured
        if ours(one.direction, one.group, one.topic)
    }
    if not measured:
        return unmeasured(claim, between(item, what), "no operations were due")
    limits = [
        limit
        for (kind, owner), limit in evidence.thresholds.items()
        if kind == direction and group in (None, owner)
    ]
    if max(limits, default=0) > least:
        why = f"a gap shorter than {durations.show(max(limits))} cannot be seen in this run"
        return unmeasured(claim, between(item, what), why)
    gaps = [
        gap
        for gap in evidence.gaps
        if ours(gap.direction, gap.group, gap.topic)
        and gap.start <= end
        and gap.end >= (window.injected_at or 0)
    ]
    long = {(gap.topic, gap.partition) for gap in gaps if gap.duration >= least}
    longest = max((gap.duration for gap in gaps), default=0)
    where = f"{names(long)}{'; ' if long else ''}longest {durations.show(longest)}"
    found = counted(claim, item, len(long), f"{what} of {len(measured)} measured", where=where)
    return Result(
        claim,
        between(item, what),
        found.result,
        found.seen,
        {"value": len(long), "measured": len(measured), "longest": longest},
    )
