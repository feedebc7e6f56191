"""Leadership of the partitions, from the timeline's partition states."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from krt_contract.faults import Action
from krt_contract.members import broker_of
from krt_contract.timeline import EventName, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_contract.timeline import Event

NO_LEADER = -1
"""Kafka's leader id while no eligible replica lives."""

STORAGE_LOSING_ACTIONS = frozenset({Action.LOSE_DISK})
"""Fault actions that take a member's volume. Killing processes, however many at once, is none:
the page cache outlives the process."""


@dataclass(frozen=True, slots=True)
class State:
    """One state of a partition, as ZooKeeper had it from ``at`` on."""

    at: int
    leader: int
    epoch: int
    isr: tuple[int, ...]
    version: int


@dataclass(frozen=True, slots=True)
class Election:
    """A leader took over from another epoch.

    Attributes:
        at: when, in UTC µs.
        outside_isr: the leader was not in the ISR of the state before.
        storage_lost: the leader's storage, or that of every ISR member before, had been lost and
            not been filled again from another leader, nor led to an election already.
        deposed: who led last before.
        since: from when the deposed leader had led, in UTC µs.
    """

    topic: str
    partition: int
    at: int
    epoch: int
    leader: int
    outside_isr: bool
    storage_lost: bool
    deposed: int
    since: int


def states(timeline: Sequence[Event]) -> dict[tuple[str, int], tuple[State, ...]]:
    """Return every partition's states in the order ZooKeeper had them."""
    found: dict[tuple[str, int], dict[tuple[int, int], State]] = {}
    for event in timeline:
        if (event.source, event.event) == (Source.PARTITION, EventName.STATE):
            topic, _, partition = event.subject.rpartition("-")
            state = state_of(event)
            found.setdefault((topic, int(partition)), {})[state.epoch, state.version] = state
    return {
        position: tuple(versions[version] for version in sorted(versions))
        for position, versions in sorted(found.items())
    }


def state_of(event: Event) -> State:
    """Return the state in an event of source ``partition``."""
    detail: dict[str, Any] = event.detail
    return State(
        at=event.at,
        leader=int(detail["leader"]),
        epoch=int(detail["leader_epoch"]),
        isr=tuple(sorted(int(broker) for broker in detail["isr"])),
        version=int(detail.get("version", 0)),
    )


def elections(timeline: Sequence[Event]) -> tuple[Election, ...]:
    """Return the elections of every partition, in order of partition and epoch."""
    lost = _lost_storage(timeline)
    found: list[Election] = []
    for (topic, partition), sequence in states(timeline).items():
        deposed, since = NO_LEADER, 0
        pending, gone = list(lost), set[int]()
        for before, after in pairwise(sequence):
            if before.leader not in (NO_LEADER, deposed):
                deposed, since = before.leader, before.at
            gone |= {broker for broker, at in pending if at <= after.at}
            pending = [(broker, at) for broker, at in pending if at > after.at]
            # Who joins the ISR of another leader has copied all of it again.
            gone -= set(after.isr) - set(before.isr) - {after.leader}
            if after.epoch <= before.epoch or after.leader == NO_LEADER:
                continue
            found.append(
                Election(
                    topic=topic,
                    partition=partition,
                    at=after.at,
                    epoch=after.epoch,
                    leader=after.leader,
                    outside_isr=after.leader not in before.isr,
                    storage_lost=after.leader in gone or set(before.isr) <= gone,
                    deposed=deposed,
                    since=since,
                )
            )
            # From now on the log is what this leader has: its loss of storage has had its election.
            gone.discard(after.leader)
    return tuple(found)


def _lost_storage(timeline: Sequence[Event]) -> tuple[tuple[int, int], ...]:
    """Return (broker, when) of every storage lost by a fault."""
    found = []
    for event in timeline:
        detail = event.detail
        if (event.source, event.event) != (Source.FAULT, EventName.INJECTED):
            continue
        if detail.get("action") not in STORAGE_LOSING_ACTIONS:
            continue
        for target in detail.get("targets", ()):
            broker = broker_of(str(target.get("member", "")))
            if broker is not None:
                found.append((broker, event.at))
    return tuple(found)
