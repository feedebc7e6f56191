"""Expectations about gaps: on how many partitions operations paused for long during a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.durations import Duration
from krt_scoring import durations
from krt_scoring.expectations.results import (
    Noun,
    Result,
    count_bounds,
    evaluate_count,
    not_evaluated,
)
from krt_scoring.metrics.operations import READ, WRITE
from krt_scoring.metrics.partition_states import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.fault_span import FaultSpan
    from krt_scoring.metrics.measures import Measures

DIRECTIONS = {"Writes": WRITE, "Reads": READ}


def evaluate(expect: Mapping[str, Any], span: FaultSpan, measures: Measures) -> Iterator[Result]:
    """Yield the results of ``unavailability`` within a fault's span."""
    for item in expect.get("unavailability") or ():
        yield _evaluate(item, span, measures)


def _evaluate(item: Mapping[str, Any], span: FaultSpan, measures: Measures) -> Result:
    direction, least = DIRECTIONS[item["of"]], Duration.parse(item["longerThan"]).micros
    topic, group = item.get("topic"), item.get("group")
    scope = "".join(f" {word} {value}" for word, value in (("of", topic), ("by", group)) if value)
    expectation = f"{span.name}.unavailability {item['of']}{scope} longer than {item['longerThan']}"
    what = Noun("partition", "partitions")

    def matches(found_direction: str, found_group: str, found_topic: str) -> bool:
        return (
            found_direction == direction
            and group in (None, found_group)
            and topic in (None, found_topic)
        )

    measured = {
        (lane.topic, lane.partition)
        for lane in measures.measured
        if matches(lane.direction, lane.group, lane.topic)
    }
    if not measured:
        return not_evaluated(expectation, count_bounds(item, what), "no operations were scheduled")
    limits = [
        limit
        for (kind, owner), limit in measures.detection_limits.items()
        if kind == direction and group in (None, owner)
    ]
    limit = max(limits, default=None)
    if limit is not None and limit > least:
        cause = f"a gap shorter than {durations.show(limit)} cannot be seen (detection limit)"
        return not_evaluated(expectation, count_bounds(item, what), cause)
    gaps = [
        gap
        for gap in measures.gaps
        if matches(gap.direction, gap.group, gap.topic)
        and gap.start <= span.end
        and gap.end >= span.start
    ]
    long = {(gap.topic, gap.partition) for gap in gaps if gap.duration >= least}
    longest = max((gap.duration for gap in gaps), default=None)
    seen = durations.show_longest(longest, limit)
    where = f"{names(long)}{'; ' if long else ''}{'' if longest is None else 'longest '}{seen}"
    rest = f"of {len(measured)} measured"
    found = evaluate_count(
        expectation,
        item,
        len(long),
        Noun(f"partition {rest}", f"partitions {rest}"),
        where=where,
    )
    return Result(
        expectation,
        count_bounds(item, what),
        found.result,
        found.observed,
        {
            "value": len(long),
            "measured": len(measured),
            **({} if longest is None else {"longest": longest}),
            **({} if limit is None else {"detectionLimit": limit}),
        },
    )
