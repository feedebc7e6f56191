"""Time without a live leader: what clients see of a partition whose leader is gone.

Another number than the partitions that were *offline*. Between the death of a leader and the
election of the next one Kafka still names the dead one, so nothing is offline, and yet nobody can
be written to. A broker is alive from its registration to its death, and while it is not frozen;
a partition has a live leader while its state names a broker that is alive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING

from krt_contract.members import broker_of
from krt_contract.timeline import EventName, Source
from krt_scoring.history.elections import NO_LEADER
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krt_scoring.history.elections import State
    from krt_scoring.inputs.timeline import Timeline
    from krt_scoring.metrics.partition_states import Place, States

Spell = tuple[int, int]
"""From when until when, UTC µs."""


@dataclass(frozen=True, slots=True)
class WithoutLeader:
    """Time without a live leader of some partitions; durations in µs.

    Attributes:
        partitions: how many were without one.
        longest: the longest such time of one partition.
        total: of all partitions together.
    """

    partitions: int
    longest: int
    total: int

    def as_dict(self) -> dict[str, int]:
        """Return it as the scorecard holds it; times only where there were any."""
        if not self.partitions:
            return {"partitions": 0}
        return {"partitions": self.partitions, "longest": self.longest, "total": self.total}


def without_live_leader(
    states: States, timeline: Timeline, start: int, end: int
) -> dict[Place, list[Spell]]:
    """Return when tested partitions had no live leader, of those that ever had none.

    Args:
        states: the partitions' states.
        timeline: the run's events, with the deaths and registrations of brokers.
        start: begin of the time to look at, UTC µs.
        end: its end, UTC µs.
    """
    dead = deaths(timeline)
    found = {}
    for place, seen in states.during(start, end).items():
        spells = list(_merged(_spells(seen, dead, start, end)))
        if spells:
            found[place] = spells
    return found


def total_of(spells: Iterable[Sequence[Spell]]) -> WithoutLeader:
    """Return the sum of some partitions' times without a live leader."""
    lengths = [[until - since for since, until in own] for own in spells]
    return WithoutLeader(
        partitions=len(lengths),
        longest=max((max(own) for own in lengths), default=0),
        total=sum(map(sum, lengths)),
    )


def deaths(timeline: Timeline) -> dict[int, list[Spell]]:
    """Return broker id → the times in which it could not serve: dead, frozen or unregistered."""
    brokers: dict[int, _Liveness] = {}
    for broker, event, at in _broker_events(timeline):
        brokers.setdefault(broker, _Liveness()).apply(event, at)
    return {broker: [*item.spells, *item.open_spell()] for broker, item in brokers.items()}


@dataclass(slots=True)
class _Liveness:
    """Whether a broker can serve, followed event by event.

    Attributes:
        causes: why it cannot at the moment.
        since: when the first of them began, UTC µs.
        spells: the times in which it could not, as far as they ended.
    """

    causes: set[str] = field(default_factory=set)
    since: int = 0
    spells: list[Spell] = field(default_factory=list)

    def apply(self, event: str, at: int) -> None:
        """Take an event of the broker or its process into account."""
        ended, begun = _EFFECTS.get(event, ((), ""))
        was_down = bool(self.causes)
        self.causes.difference_update(ended)
        if begun:
            self.causes.add(begun)
        if self.causes and not was_down:
            self.since = at
        elif was_down and not self.causes:
            self.spells.append((self.since, at))

    def open_spell(self) -> list[Spell]:
        """Return the time that has not ended, if there is one."""
        return [(self.since, FOREVER)] if self.causes else []


_DEAD, _FROZEN, _UNREGISTERED, _FENCED = "dead", "frozen", "unregistered", "fenced"

REGISTERED_FENCED = "registered fenced"
"""How a broker registers in KRaft."""

_EFFECTS: Mapping[str, tuple[tuple[str, ...], str]] = MappingProxyType(
    {
        EventName.KILLED: ((_FROZEN,), _DEAD),
        EventName.EXITED: ((_FROZEN,), _DEAD),
        EventName.FROZEN: ((), _FROZEN),
        EventName.THAWED: ((_FROZEN,), ""),
        EventName.UNREGISTERED: ((), _UNREGISTERED),
        EventName.REGISTERED: ((_DEAD, _UNREGISTERED, _FENCED), ""),
        REGISTERED_FENCED: ((_DEAD, _UNREGISTERED), _FENCED),
        EventName.FENCED: ((), _FENCED),
        EventName.UNFENCED: ((_FENCED,), ""),
    }
)
"""Event → causes that end with it, and the one that begins. A process that was started can serve
when it has registered; with KRaft it registers fenced, and can serve when it is unfenced."""


def _broker_events(timeline: Timeline) -> Iterator[tuple[int, str, int]]:
    """Yield broker id, event and time of what decides whether a broker is alive."""
    for event in timeline.events:
        if event.source == Source.BROKER:
            fenced = event.event == EventName.REGISTERED and event.detail.get("fenced")
            name = REGISTERED_FENCED if fenced else event.event
            yield int(event.subject), name, event.at
        elif event.source == Source.MEMBER:
            broker = broker_of(str(event.detail.get("member", "")))
            if broker is not None:
                yield broker, event.event, event.at


def _spells(
    seen: Sequence[State], dead: dict[int, list[Spell]], start: int, end: int
) -> Iterator[Spell]:
    for state, after in zip_longest(seen, seen[1:]):
        since, until = max(state.at, start), min(after.at, end) if after else end
        if state.leader == NO_LEADER:
            yield since, until
            continue
        for died, returned in dead.get(state.leader, ()):
            if max(died, since) < min(returned, until):
                yield max(died, since), min(returned, until)


def _merged(spells: Iterable[Spell]) -> Iterator[Spell]:
    """Yield spells that follow each other without a break as one; empty ones not at all."""
    current: Spell | None = None
    for since, until in spells:
        if since >= until:
            continue
        if current is not None and since <= current[1]:
            current = current[0], max(current[1], until)
            continue
        if current is not None:
            yield current
        current = since, until
    if current is not None:
        yield current
