"""Expectations about consumer groups: their rebalances, and consumers without a partition."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from krt_contract.outcomes import ConsumerEvent
from krt_contract.timeline import EventName, Source
from krt_scoring.expectations.results import (
    Noun,
    Result,
    count_bounds,
    evaluate_count,
    not_evaluated,
)
from krt_scoring.inputs.ledger_columns import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.inputs.recording import Recording

MEMBERS = Noun("member without a partition", "members without a partition")
REBALANCES = Noun("rebalance of any single member", "rebalances of any single member")

FIRST, LAST = "Injecting", "Draining"
"""Phases between which rebalances count: joining and leaving are not caused by faults."""


def evaluate(expect: Mapping[str, Any], recording: Recording, end: int) -> Iterator[Result]:
    """Yield the results of ``rebalances`` and ``unassignedConsumers``.

    Args:
        expect: ``spec.expect``.
        recording: what was recorded.
        end: when the run ended, UTC µs.
    """
    if not (expect.get("rebalances") or expect.get("unassignedConsumers")):
        return
    if not recording.inspection.files.get("consumer_events"):
        for field, what in (("rebalances", REBALANCES), ("unassignedConsumers", MEMBERS)):
            for item in expect.get(field) or ():
                expectation = f"{field} {item['group']}"
                yield not_evaluated(
                    expectation, count_bounds(item, what), "there are no consumer events"
                )
        return
    assigned = _assignments(recording)
    start, end = _injecting(recording, end)
    for item in expect.get("rebalances") or ():
        rounds = [
            sum(start <= at <= end for at, _ in found)
            for (group, _, _), found in assigned.items()
            if group == item["group"]
        ]
        most = max(rounds, default=0)
        yield evaluate_count(f"rebalances {item['group']}", item, most, REBALANCES)
    for item in expect.get("unassignedConsumers") or ():
        busy: dict[str, bool] = {}
        for (group, consumer, _), found in assigned.items():
            if group == item["group"]:
                got = any(partitions for _, partitions in found)
                busy[consumer] = busy.get(consumer, False) or got
        idle = sorted(consumer for consumer, got in busy.items() if not got)
        rest = f"of {len(busy)} without a partition"
        what = Noun(f"member {rest}", f"members {rest}")
        yield evaluate_count(
            f"unassignedConsumers {item['group']}", item, len(idle), what, where=", ".join(idle)
        )


def _injecting(recording: Recording, run_end: int) -> tuple[int, int]:
    entered = {
        event.subject: event.at for event in recording.timeline.of(Source.PHASE, EventName.ENTERED)
    }
    injected = [w.injected_at for w in recording.faults if w.injected_at is not None]
    start = min(injected, default=entered.get(FIRST, 0))
    return start, entered.get(LAST, run_end)


def _assignments(
    recording: Recording,
) -> dict[tuple[str, str, str], list[tuple[int, int]]]:
    """Group, consumer, incarnation → (when, partitions taken) of each assignment, in order.

    An assignment is written as a row for each partition, or a row without a partition, at
    consecutive numbers; the next assignment repeats a partition or follows another event.
    """
    columns = ("group", "consumer", "incarnation", "event_seq", "at", "event", "topic", "partition")
    rows: dict[tuple[str, str, str], list[tuple[int, int, tuple[str, int] | None]]]
    rows = defaultdict(list)
    for row in read_rows(recording.inspection.files, "consumer_events", *columns):
        group, consumer, incarnation, number, at, event, topic, partition = row
        if event == ConsumerEvent.ASSIGNED:
            place = None if topic is None else (topic, partition)
            rows[group, consumer, incarnation].append((number, at, place))
    found: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    for member, events in rows.items():
        rounds: list[tuple[int, set[tuple[str, int]]]] = []
        last = -2
        for number, at, place in sorted(events, key=lambda event: event[0]):
            if number != last + 1 or place is None or place in rounds[-1][1]:
                rounds.append((at, set()))
            if place is not None:
                rounds[-1][1].add(place)
            last = number
        found[member] = [(at, len(partitions)) for at, partitions in rounds]
    return found
