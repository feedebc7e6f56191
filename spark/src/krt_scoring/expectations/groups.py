"""Expectations about consumer groups: their rebalances, and consumers without a partition."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from operator import attrgetter
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


Place = tuple[str, int]
"""Topic and partition."""

LEAVING = (ConsumerEvent.REVOKED, ConsumerEvent.LOST, ConsumerEvent.CLOSED)
"""Events by which a member gives a partition up."""

FIRST, LAST = "Injecting", "Draining"
"""Phases between which rebalances count: joining and leaving are not caused by faults."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a member was assigned at once.

    Attributes:
        at: when, UTC µs.
        generation: of the group; None where the client did not record it.
        partitions: topic and number of the partitions it was given.
    """

    at: int
    generation: int | None
    partitions: set[tuple[str, int]]


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
        of_group = [found for (group, _, _), found in assigned.items() if group == item["group"]]
        most = max((_rebalances(found, of_group, start, end) for found in of_group), default=0)
        yield evaluate_count(f"rebalances {item['group']}", item, most, REBALANCES)
    for item in expect.get("unassignedConsumers") or ():
        busy = _busy(recording, item["group"], start, end)
        idle = sorted(consumer for consumer, got in busy.items() if not got)
        rest = f"of {len(busy)} without a partition"
        what = Noun(f"member {rest}", f"members {rest}")
        yield evaluate_count(
            f"unassignedConsumers {item['group']}", item, len(idle), what, where=", ".join(idle)
        )


def _busy(recording: Recording, group: str, start: int, end: int) -> dict[str, bool]:
    """Consumer of a group → whether it had a partition at any time from ``start`` to ``end``.

    What it had before does not count: on a busy machine one consumer may join later than the
    others, and take a partition from one that is without any from then on.
    """
    columns = ("group", "consumer", "incarnation", "event_seq", "at", "event", "topic", "partition")
    events: dict[tuple[str, str], list[tuple[int, int, str, Place | None]]] = defaultdict(list)
    for row in read_rows(recording.inspection.files, "consumer_events", *columns):
        of, consumer, incarnation, number, at, event, topic, partition = row
        if of == group and event in (ConsumerEvent.ASSIGNED, *LEAVING):
            place = None if topic is None else (topic, partition)
            events[consumer, incarnation].append((number, at, event, place))
    found: dict[str, bool] = {}
    for (consumer, _), own in events.items():
        found[consumer] = found.get(consumer, False) or _had(sorted(own), start, end)
    return found


def _had(events: list[tuple[int, int, str, Place | None]], start: int, end: int) -> bool:
    """Whether a member had a partition between two times, by its events in their order."""
    held: set[Place] = set()
    for _, at, event, place in events:
        if at > end or (at >= start and held):
            break
        if place is None:
            # An assignment without partitions leaves a cooperative member what it has.
            held = set() if event in (ConsumerEvent.LOST, ConsumerEvent.CLOSED) else held
        elif event == ConsumerEvent.ASSIGNED:
            held.add(place)
        else:
            held.discard(place)
    return bool(held)


def _injecting(recording: Recording, run_end: int) -> tuple[int, int]:
    entered = {
        event.subject: event.at for event in recording.timeline.of(Source.PHASE, EventName.ENTERED)
    }
    injected = [w.injected_at for w in recording.faults if w.injected_at is not None]
    start = min(injected, default=entered.get(FIRST, 0))
    return start, entered.get(LAST, run_end)


def _rebalances(
    found: list[Assignment], of_group: list[list[Assignment]], start: int, end: int
) -> int:
    """How many rebalances gave a member its assignments between two times.

    A rebalance gives its group a new generation. A static member that is back is first assigned
    what it had, in the generation that the group had before.
    """
    earlier = [item for member in of_group for item in member if item.at < start]
    before = max(earlier, key=attrgetter("at")).generation if earlier else None
    rounds = [item for item in found if start <= item.at <= end]
    back = bool(rounds) and rounds[0] is found[0] and rounds[0].generation == before is not None
    return len(rounds) - back


def _assignments(recording: Recording) -> dict[tuple[str, str, str], list[Assignment]]:
    """Group, consumer, incarnation → its assignments, in order.

    An assignment is written as a row for each partition, or a row without a partition, at
    consecutive numbers; the next assignment repeats a partition or follows another event.
    """
    columns = (
        *("group", "consumer", "incarnation", "event_seq", "at", "event", "generation"),
        *("topic", "partition"),
    )
    rows: dict[tuple[str, str, str], list[tuple[int, int, int | None, tuple[str, int] | None]]] = (
        defaultdict(list)
    )
    for row in read_rows(recording.inspection.files, "consumer_events", *columns):
        group, consumer, incarnation, number, at, event, generation, topic, partition = row
        if event == ConsumerEvent.ASSIGNED:
            place = None if topic is None else (topic, partition)
            rows[group, consumer, incarnation].append((number, at, generation, place))
    found: dict[tuple[str, str, str], list[Assignment]] = {}
    for member, events in rows.items():
        rounds: list[Assignment] = []
        last = -2
        for number, at, generation, place in sorted(events, key=lambda event: event[0]):
            if number != last + 1 or place is None or place in rounds[-1].partitions:
                rounds.append(Assignment(at, generation, set()))
            if place is not None:
                rounds[-1].partitions.add(place)
            last = number
        found[member] = rounds
    return found
