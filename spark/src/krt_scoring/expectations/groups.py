"""Expectations about consumer groups: their rebalances, and consumers without a partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
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
    from collections.abc import Iterator

    from krt_scoring.inputs.recording import Recording

MEMBERS = Noun("member without a partition", "members without a partition")
REBALANCES = Noun("rebalance of any single member", "rebalances of any single member")


Place = tuple[str, int]
"""Topic and partition."""

CHANGING = frozenset(
    {
        ConsumerEvent.ASSIGNED,
        ConsumerEvent.REVOKED,
        ConsumerEvent.LOST,
        ConsumerEvent.CLOSED,
    }
)
"""Events by which a member gets a partition or gives it up."""

FIRST, LAST = "Injecting", "Draining"
"""Phases between which rebalances count: joining and leaving are not caused by faults."""


@dataclass(frozen=True, slots=True)
class MemberEvent:
    """An event by which a member gets a partition or gives it up.

    Attributes:
        number: of the event, in the member's own order.
        at: when, UTC µs.
        event: one of ``CHANGING``.
        generation: of the group; None where the client did not record it.
        place: the partition; None where the event names none.
    """

    number: int
    at: int
    event: str
    generation: int | None
    place: Place | None


EventsOfMembers = Mapping[tuple[str, str, str], Sequence[MemberEvent]]
"""Group, consumer and incarnation → its events, in order."""


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
    events = _events(recording)
    assigned = _assignments(events)
    start, end = _injecting(recording, end)
    for item in expect.get("rebalances") or ():
        of_group = [found for (group, _, _), found in assigned.items() if group == item["group"]]
        most = max((_rebalances(found, of_group, start, end) for found in of_group), default=0)
        yield evaluate_count(f"rebalances {item['group']}", item, most, REBALANCES)
    for item in expect.get("unassignedConsumers") or ():
        busy = _busy(events, item["group"], start, end)
        idle = sorted(consumer for consumer, got in busy.items() if not got)
        rest = f"of {len(busy)} without a partition"
        what = Noun(f"member {rest}", f"members {rest}")
        yield evaluate_count(
            f"unassignedConsumers {item['group']}", item, len(idle), what, where=", ".join(idle)
        )


def _busy(events: EventsOfMembers, group: str, start: int, end: int) -> dict[str, bool]:
    """Consumer of a group → whether it had a partition at any time from ``start`` to ``end``.

    What it had before does not count: on a busy machine one consumer may join later than the
    others, and take a partition from one that is without any from then on.
    """
    found: dict[str, bool] = {}
    for (of, consumer, _), own in events.items():
        if of == group:
            found[consumer] = found.get(consumer, False) or _had(own, start, end)
    return found


def _had(events: Sequence[MemberEvent], start: int, end: int) -> bool:
    """Whether a member had a partition between two times, by its events in their order."""
    held: set[Place] = set()
    for item in events:
        if item.at > end or (item.at >= start and held):
            break
        if item.place is None:
            # An assignment without partitions leaves a cooperative member what it has.
            held = set() if item.event in (ConsumerEvent.LOST, ConsumerEvent.CLOSED) else held
        elif item.event == ConsumerEvent.ASSIGNED:
            held.add(item.place)
        else:
            held.discard(item.place)
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


def _events(recording: Recording) -> EventsOfMembers:
    """Group, consumer, incarnation → the events that gave or took a partition, in order."""
    columns = (
        *("group", "consumer", "incarnation", "event_seq", "at", "event", "generation"),
        *("topic", "partition"),
    )
    found: dict[tuple[str, str, str], list[MemberEvent]] = defaultdict(list)
    for row in read_rows(recording.inspection.files, "consumer_events", *columns):
        group, consumer, incarnation, number, at, event, generation, topic, partition = row
        if event in CHANGING:
            place = None if topic is None else (topic, partition)
            item = MemberEvent(number, at, event, generation, place)
            found[group, consumer, incarnation].append(item)
    return {member: sorted(own, key=attrgetter("number")) for member, own in found.items()}


def _assignments(events: EventsOfMembers) -> dict[tuple[str, str, str], list[Assignment]]:
    """Group, consumer, incarnation → its assignments, in order.

    An assignment is written as a row for each partition, or a row without a partition, at
    consecutive numbers; the next assignment is of another generation, repeats a partition or
    follows another event.
    """
    found: dict[tuple[str, str, str], list[Assignment]] = {}
    for member, own in events.items():
        rounds: list[Assignment] = []
        last = -2
        for item in own:
            if item.event != ConsumerEvent.ASSIGNED:
                continue
            if item.number != last + 1 or not _continues(rounds[-1], item):
                rounds.append(Assignment(item.at, item.generation, set()))
            if item.place is not None:
                rounds[-1].partitions.add(item.place)
            last = item.number
        if rounds:
            found[member] = rounds
    return found


def _continues(assignment: Assignment, item: MemberEvent) -> bool:
    """Whether the event that follows an assignment may be of the same one."""
    return (
        item.generation == assignment.generation
        and item.place is not None
        and item.place not in assignment.partitions
    )
