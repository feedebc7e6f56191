"""Claims on consumer groups: how often they rebalanced, who had nothing to do."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from krt_contract.outcomes import ConsumerEvent
from krt_contract.timeline import EventName, Source
from krt_scoring.expectations.result import (
    Result,
    between,
    counted,
    unmeasured,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence

FIRST, LAST = "Injecting", "Draining"
"""Phases between which rebalances count: joining and leaving are not the faults' doing."""


def judge(expect: Mapping[str, Any], evidence: Evidence) -> Iterator[Result]:
    """Yield the results of ``rebalances`` and ``unassignedConsumers``."""
    if not (expect.get("rebalances") or expect.get("unassignedConsumers")):
        return
    if not evidence.files.get("consumer_events"):
        for field, what in (("rebalances", "rebalances"), ("unassignedConsumers", "members")):
            for item in expect.get(field) or ():
                claim = f"{field} {item['group']}"
                yield unmeasured(claim, between(item, what), "there are no consumer events")
        return
    assigned = _assignments(evidence)
    start, end = _between(evidence)
    for item in expect.get("rebalances") or ():
        rounds = [
            sum(start <= at <= end for at, _ in found)
            for (group, _, _), found in assigned.items()
            if group == item["group"]
        ]
        what = "rebalances of any one member"
        yield counted(f"rebalances {item['group']}", item, max(rounds, default=0), what)
    for item in expect.get("unassignedConsumers") or ():
        busy: dict[str, bool] = {}
        for (group, consumer, _), found in assigned.items():
            if group == item["group"]:
                got = any(partitions for _, partitions in found)
                busy[consumer] = busy.get(consumer, False) or got
        idle = sorted(consumer for consumer, got in busy.items() if not got)
        what = f"members of {len(busy)} without a partition"
        yield counted(
            f"unassignedConsumers {item['group']}", item, len(idle), what, where=", ".join(idle)
        )


def _between(evidence: Evidence) -> tuple[int, int]:
    entered = {
        event.subject: event.at for event in evidence.timeline.of(Source.PHASE, EventName.ENTERED)
    }
    injected = [w.injected_at for w in evidence.windows if w.injected_at is not None]
    start = min(injected, default=entered.get(FIRST, 0))
    return start, entered.get(LAST, evidence.end)


def _assignments(
    evidence: Evidence,
) -> dict[tuple[str, str, str], list[tuple[int, int]]]:
    """Group, consumer, incarnation → (when, partitions taken) of each assignment, in order.

    An assignment is written as one row a partition, or one without a partition, at consecutive
    numbers; the next one repeats a partition or stands behind another event.
    """
    columns = ("group", "consumer", "incarnation", "event_seq", "at", "event", "topic", "partition")
    rows: dict[tuple[str, str, str], list[tuple[int, int, tuple[str, int] | None]]]
    rows = defaultdict(list)
    for batch in evidence.rows("consumer_events", *columns):
        for group, consumer, incarnation, n, at, event, topic, partition in zip(
            *(batch[name] for name in columns), strict=True
        ):
            if event == ConsumerEvent.ASSIGNED:
                place = None if topic is None else (topic, partition)
                rows[group, consumer, incarnation].append((n, at, place))
    found: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    for member, events in rows.items():
        rounds: list[tuple[int, set[tuple[str, int]]]] = []
        last = -2
        for n, at, place in sorted(events, key=lambda event: event[0]):
            if n != last + 1 or place is None or place in rounds[-1][1]:
                rounds.append((at, set()))
            if place is not None:
                rounds[-1][1].add(place)
            last = n
        found[member] = [(at, len(partitions)) for at, partitions in rounds]
    return found
