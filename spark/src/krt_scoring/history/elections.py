"""Leadership of the partitions, from the timeline's partition states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from krt_contract.faults import Action
from krt_contract.members import broker_of
from krt_contract.metadata import HistorySource
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
        at: UTC µs; of a polled one, when it was first seen.
        version: orders the states of an epoch.
        elr: KRaft's eligible leader replicas: out of the ISR, but not behind it.
        last_known: who may be elected when nobody is eligible any more.
        recovering: the leader was elected from outside ISR and ELR.
        polled: whether it was seen by polling: others may have come and gone before it.
        unchanged_until: of a polled one, until when the state before it was still seen, UTC µs; 0
            where that is not known.
    """

    at: int
    leader: int
    epoch: int
    isr: tuple[int, ...]
    version: int
    elr: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()
    recovering: bool = False
    polled: bool = False
    unchanged_until: int = 0

    @property
    def earliest(self) -> int:
        """From when on it may have been so, UTC µs."""
        return self.unchanged_until if self.polled else self.at

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
    UNKNOWN = "Unknown"
    """Of a polled cluster: who was in the ISR as the leader was elected was not seen."""


@dataclass(frozen=True, slots=True)
class Election:
    """A leader took over from another epoch.

    Of a polled cluster, it stands for all elections between two states that were seen; ``leader``
    is then -1 where the second one has none.

    Attributes:
        at: when, in UTC µs; of a polled cluster, by when.
        earliest: when it was at the earliest, in UTC µs.
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
    earliest: int

    @property
    def outside_isr(self) -> bool:
        """Whether the leader may lack what was committed: it was in neither ISR nor ELR."""
        return self.electorate not in {Electorate.ISR, Electorate.ELR}


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
        # Nothing but time orders the polled states of an epoch.
        version=int(detail.get("version", event.at if _polled(event) else 0)),
        elr=_ids(detail.get("elr")),
        last_known=_ids(detail.get("last_known_elr")),
        recovering=bool(detail.get("recovering")),
        polled=_polled(event),
        unchanged_until=int(detail.get("unchanged_until", 0)),
    )


def _polled(event: Event) -> bool:
    return event.detail.get("from") == HistorySource.POLLING


def _ids(brokers: Iterable[Any] | None) -> tuple[int, ...]:
    return tuple(sorted(int(broker) for broker in brokers or ()))


def elections(timeline: Sequence[Event]) -> tuple[Election, ...]:
    """Return the elections of every partition, in order of partition and epoch."""
    lost = _lost_storage(timeline)
    found: list[Election] = []
    for (topic, partition), sequence in states(timeline).items():
        deposed, since, term = NO_LEADER, 0, 0
        pending, gone = list(lost), set[int]()
        eligible = frozenset[int]()
        left: dict[int, int] = {}
        for before, after in pairwise(sequence):
            # Between two polled epochs of one leader another may have led.
            again = before.polled and before.epoch != term
            if before.leader != NO_LEADER and (before.leader != deposed or again):
                first = before is sequence[0] and before.epoch == 0
                deposed, since = before.leader, 0 if first else before.at
                term = before.epoch
            gone |= {broker for broker, at in pending if at <= after.at}
            pending = [(broker, at) for broker, at in pending if at > after.at]
            # In KRaft both may be empty: then those count that were eligible last.
            eligible = before.eligible or eligible
            # Who joins the ISR of another leader has copied all of it again.
            gone -= set(after.isr) - set(before.isr) - {after.leader}
            left |= dict.fromkeys(before.eligible - after.eligible, after.at)
            if not _elected(before, after):
                continue
            emptied = after.leader in gone or (bool(eligible) and eligible <= gone)
            found.append(
                Election(
                    topic=topic,
                    partition=partition,
                    at=after.at,
                    epoch=after.epoch,
                    leader=after.leader,
                    electorate=electorate_of(before, after, deposed),
                    storage_lost=emptied and not after.polled,
                    deposed=deposed,
                    since=since,
                    # That it was in the ISR all along between two polls is not known.
                    left=0 if after.polled else left.get(after.leader, 0),
                    earliest=max(after.earliest, before.at) if after.polled else after.at,
                )
            )
            # From now on the log is what this leader has: its loss of storage has had its election.
            gone.discard(after.leader)
    return tuple(found)


def _elected(before: State, after: State) -> bool:
    """Whether a leader was elected between two states that follow each other.

    Between polled ones an epoch that was not seen may have had a leader.
    """
    led = after.leader != NO_LEADER or (after.polled and after.epoch > before.epoch + 1)
    return after.epoch > before.epoch and led


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
    if after.polled:
        return Electorate.UNKNOWN
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
