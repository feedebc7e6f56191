"""Leadership of the partitions, from the timeline's partition states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from krt_contract.faults import Action
from krt_contract.members import broker_of
from krt_contract.timeline import EventName, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krt_contract.timeline import Event

NO_LEADER = -1
"""Kafka's leader id while no eligible replica lives."""

STORAGE_LOSING_ACTIONS = frozenset({Action.LOSE_DISK})
"""Fault actions that take a member's volume. Killing processes, however many at once, is none:
the page cache outlives the process."""


@dataclass(frozen=True, slots=True)
class State:
    """One state of a partition, as ZooKeeper or the metadata log has it from ``at`` on.

    Attributes:
        elr: KRaft's eligible leader replicas: out of the ISR, but not behind it.
        last_known: who may be elected when nobody is eligible any more.
        recovering: the leader was elected from outside ISR and ELR.
    """

    at: int
    leader: int
    epoch: int
    isr: tuple[int, ...]
    version: int
    elr: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()
    recovering: bool = False

    @property
    def eligible(self) -> frozenset[int]:
        """The replicas that have all that is committed: ISR and ELR."""
        return frozenset(self.isr) | frozenset(self.elr)


class Electorate(StrEnum):
    """Where an elected leader came from."""

    ISR = "Isr"
    ELR = "Elr"
    LAST_KNOWN_LEADER = "LastKnownLeader"
    """From neither: KRaft elects the last leader it knows where nobody is eligible any more,
    without unclean.leader.election.enable. What it lacks is lost."""
    OUTSIDE = "Outside"
    """From neither, and not the last known leader: an unclean election."""


@dataclass(frozen=True, slots=True)
class Election:
    """A leader took over from another epoch.

    Attributes:
        at: when, in UTC µs.
        electorate: where the leader came from, by the state before.
        storage_lost: the leader's storage, or that of every member of ISR and ELR before, had been
            lost and not been filled again from another leader, nor led to an election already.
        deposed: who led last before.
        since: from when the deposed leader had led, in UTC µs; 0 of a partition's first leader.
        left: from when the leader had been in neither ISR nor ELR, in UTC µs; 0 where it never was
            in one of them. Of a leader that was, it says nothing.
    """

    topic: str
    partition: int
    at: int
    epoch: int
    leader: int
    electorate: Electorate
    storage_lost: bool
    deposed: int
    since: int
    left: int

    @property
    def outside_isr(self) -> bool:
        """Whether the leader may lack what was committed: it was in neither ISR nor ELR."""
        return self.electorate in {Electorate.LAST_KNOWN_LEADER, Electorate.OUTSIDE}


def states(timeline: Sequence[Event]) -> dict[tuple[str, int], tuple[State, ...]]:
    """Return every partition's states in their order, by leader epoch and version."""
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
        isr=_ids(detail["isr"]),
        version=int(detail.get("version", 0)),
        elr=_ids(detail.get("elr")),
        last_known=_ids(detail.get("last_known_elr")),
        recovering=bool(detail.get("recovering")),
    )


def _ids(brokers: Iterable[Any] | None) -> tuple[int, ...]:
    return tuple(sorted(int(broker) for broker in brokers or ()))


def elections(timeline: Sequence[Event]) -> tuple[Election, ...]:
    """Return the elections of every partition, in order of partition and epoch."""
    lost = _lost_storage(timeline)
    found: list[Election] = []
    for (topic, partition), sequence in states(timeline).items():
        deposed, since = NO_LEADER, 0
        pending, gone = list(lost), set[int]()
        eligible = frozenset[int]()
        left: dict[int, int] = {}
        for before, after in pairwise(sequence):
            if before.leader not in (NO_LEADER, deposed):
                first = before is sequence[0] and before.epoch == 0
                deposed, since = before.leader, 0 if first else before.at
            gone |= {broker for broker, at in pending if at <= after.at}
            pending = [(broker, at) for broker, at in pending if at > after.at]
            # In KRaft both may be empty: then those count that were eligible last.
            eligible = before.eligible or eligible
            # Who joins the ISR of another leader has copied all of it again.
            gone -= set(after.isr) - set(before.isr) - {after.leader}
            left |= dict.fromkeys(before.eligible - after.eligible, after.at)
            if after.epoch <= before.epoch or after.leader == NO_LEADER:
                continue
            found.append(
                Election(
                    topic=topic,
                    partition=partition,
                    at=after.at,
                    epoch=after.epoch,
                    leader=after.leader,
                    electorate=electorate_of(before, after, deposed),
                    storage_lost=after.leader in gone or (bool(eligible) and eligible <= gone),
                    deposed=deposed,
                    since=since,
                    left=left.get(after.leader, 0),
                )
            )
            # From now on the log is what this leader has: its loss of storage has had its election.
            gone.discard(after.leader)
    return tuple(found)


def electorate_of(before: State, after: State, deposed: int) -> Electorate:
    """Return where the leader of a state came from.

    KRaft marks a leader that was elected from outside ISR and ELR as recovering; the record may
    take it out of either as it elects it, as a broker that was killed leaves both when it returns,
    and empty the list of last known leaders. Whoever led last is one, too.

    Args:
        before: the state before it.
        after: the first state of the leader.
        deposed: who led last before.
    """
    recovers = after.recovering and not before.recovering
    if after.leader in before.isr and not recovers:
        return Electorate.ISR
    if after.leader in before.elr and not recovers:
        return Electorate.ELR
    if after.recovering and after.leader in {*before.last_known, deposed}:
        return Electorate.LAST_KNOWN_LEADER
    return Electorate.OUTSIDE


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
