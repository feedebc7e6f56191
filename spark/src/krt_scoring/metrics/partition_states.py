"""The states of the tested partitions over time, as the source of the history has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Self

from krt_contract.faults import ObservationKind
from krt_contract.metadata import Strength
from krt_contract.short_list import short_list
from krt_contract.timeline import EventName, Source
from krt_scoring.history.elections import (
    NO_LEADER,
    Electorate,
    State,
    electorate_of,
    state_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_contract.plan import Plan
    from krt_scoring.inputs.timeline import Silence, Timeline

Place = tuple[str, int]
Replicas = tuple[int, tuple[int, ...]]

LEAST = 1_000_000
"""µs. Of a silence that lasts longer the recorder tells. What it missed though it was not silent
was overwritten sooner, like the state without a leader that a controller of ZooKeeper's writes
milliseconds ahead of the next leader's; nor is a partition leaderless for that."""


@dataclass(frozen=True, slots=True)
class States:
    """Partition → its states in their order; tested topics only.

    Attributes:
        known: a partition without a recorded state has no entry.
        replicas: partition → (since, broker ids with the preferred leader first), by time, the
            first as the topic was created.
        silences: (stream, from, to) of the recorder, UTC µs.
        registrations: broker id → when it registered, in order.
        fencings: broker id → when a KRaft controller fenced it, in order.
        unobserved_from: from when on (UTC µs) no state was read any more; None if all were.
        complete: whether every state is there. Then none without a leader is half of an election:
            a KRaft controller fences a broker and moves its partitions in one batch.
        observed: whether they were polled: any may have been missed without a trace, but for those
            with an epoch of their own.
    """

    known: Mapping[Place, tuple[State, ...]]
    replicas: Mapping[Place, tuple[Replicas, ...]]
    silences: frozenset[Silence]
    registrations: Mapping[int, tuple[int, ...]]
    unobserved_from: int | None = None
    complete: bool = False
    fencings: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    observed: bool = False

    @classmethod
    def of(cls, timeline: Timeline, run: Plan) -> Self:
        """Return the states that a timeline shows."""
        replicas = _replicas(timeline, run)
        found: dict[Place, dict[tuple[int, int], State]] = {place: {} for place in replicas}
        for event in timeline.of(Source.PARTITION, EventName.STATE):
            topic, _, partition = event.subject.rpartition("-")
            place = (topic, int(partition) if partition.isdigit() else -1)
            if place not in found:
                continue
            state = state_of(event)
            found[place].setdefault((state.epoch, state.version), state)
        strength = run.metadata.source.strength
        known = {
            place: tuple(states[key] for key in sorted(states))
            for place, states in sorted(found.items())
            if states
        }
        return cls(
            known,
            replicas,
            frozenset(timeline.silences()),
            _times(timeline, EventName.REGISTERED),
            timeline.unobserved_from(),
            strength is Strength.COMPLETE,
            _times(timeline, EventName.FENCED),
            strength is Strength.OBSERVED,
        )

    def replicas_at(self, place: Place, at: int) -> tuple[int, ...]:
        """Return a partition's replicas at a time, the preferred leader first; none if unknown."""
        before = [ids for since, ids in self.replicas[place] if since <= at]
        return before[-1] if before else ()

    def earliest(self, at: int) -> int:
        """Return when what was seen at a time was so at the earliest: before it only if polled."""
        return min(
            (
                state.earliest
                for history in self.known.values()
                for state in history
                if state.at == at
            ),
            default=at,
        )

    def during(self, start: int, end: int) -> dict[Place, tuple[State, ...]]:
        """Return each partition's state at ``start`` and every later one up to ``end``."""
        found = {}
        for place, states in self.known.items():
            before = [state for state in states if state.at <= start]
            found[place] = (*before[-1:], *(s for s in states if start < s.at <= end))
        return found

    def changes(self, start: int, end: int) -> Iterator[tuple[Place, State, State]]:
        """Yield each change of a partition in a time: the state before it and the one after."""
        for place, states in self.during(start, end).items():
            for before, after in pairwise(states):
                yield place, before, after

    def elections(self, start: int, end: int) -> Iterator[tuple[Place, State, State]]:
        """Yield each change of leader: the last state that had one, and the one with another."""
        for place, states in self.during(start, end).items():
            led = [state for state in states if state.leader != NO_LEADER]
            for before, after in pairwise(led):
                if before.leader != after.leader:
                    yield place, before, after

    def electorates(self, start: int, end: int) -> Iterator[tuple[Place, Electorate]]:
        """Yield each election in a time, and where its leader came from."""
        for place, states in self.known.items():
            deposed = NO_LEADER
            for before, after in pairwise(states):
                deposed = deposed if before.leader == NO_LEADER else before.leader
                elected = after.epoch > before.epoch and after.leader != NO_LEADER
                if elected and start < after.at <= end:
                    yield place, electorate_of(before, after, deposed)

    def offline(self, start: int, end: int) -> set[Place]:
        """Return the partitions without a leader for at least ``LEAST`` between two times.

        Where the next leader could have been elected all along, the state without one is half of
        an election, and how long the controller took for it is no matter of the partition. In a
        complete history there are no such halves, and every state without a leader counts.
        """
        found = set()
        least = 1 if self.complete else LEAST
        observed = end if self.unobserved_from is None else min(end, self.unobserved_from)
        for place, states in self.known.items():
            for state, after in zip_longest(states, states[1:]):
                if state.leader != NO_LEADER or (after and self._electable(state, after)):
                    continue
                ended = after.earliest if after else observed
                until = min(ended, end) if after else observed
                if until - max(state.at, start) >= least:
                    found.add(place)
        return found

    def unobserved(self, end: int) -> bool:
        """Return whether the states were read no more before a time: the last may be another."""
        return self.unobserved_from is not None and self.unobserved_from < end

    def missed(self, start: int, end: int) -> set[Place]:
        """Return where a state between two times was not seen: a version is missing, or all.

        Polled, one may have been missed anywhere.
        """
        if self.observed:
            return set(self.replicas)
        return self._unknown(end) | {place for place, _, _ in self._jumps(start, end)}

    def missed_leaders(self, start: int, end: int) -> set[Place]:
        """Return where a change of leader between two times was not seen, or may be of before.

        Epochs grow by one with each, so polled states show whether one is missing.
        """
        if not self.observed:
            return self.missed(start, end)
        found = self._unknown(end)
        for place, states in self.known.items():
            if states[0].epoch and states[0].at > start:
                found.add(place)
            for before, after in pairwise(states):
                earliest = max(after.earliest, before.at)
                within = after.at > start and earliest <= end
                certain = earliest >= start and after.at <= end
                if within and after.epoch > before.epoch + certain:
                    found.add(place)
        return found

    def hidden(self, start: int, end: int) -> set[Place]:
        """Return where a state was missed in which a partition may have been leaderless.

        The watch fires with the first state that is missed, and what is read then is a later one:
        whatever lasted was overwritten, at last, while the recorder was silent. On a polled
        cluster nothing shows it.
        """
        if self.observed:
            return set(self.replicas)
        return self._unknown(end) | {
            place
            for place, before, after in self._jumps(start, end)
            if any(since <= after.at <= until for _, since, until in self.silences)
            # One state between the two: none can both wait for that leader and give way to it.
            and not (after.version == before.version + 2 and self._electable(before, after))
        }

    def _unknown(self, end: int) -> set[Place]:
        return set(self.replicas) - (set() if self.unobserved(end) else set(self.known))

    def _electable(self, state: State, after: State) -> bool:
        """Whether the leader of a later state was in the ISR before, and registered all along."""
        if self.complete:
            return False
        ahead = [at for at in self.registrations.get(after.leader, ()) if at <= after.at]
        return after.leader in state.isr and bool(ahead) and ahead[-1] <= state.at

    def _jumps(self, start: int, end: int) -> Iterator[tuple[Place, State, State]]:
        """Yield where a version is missing: the states around it."""
        for place, before, after in self.changes(start, end):
            if after.version > before.version + 1:
                yield place, before, after


def _times(timeline: Timeline, event_name: EventName) -> dict[int, tuple[int, ...]]:
    """Return broker id → when this happened to it, in order."""
    found: dict[int, list[int]] = {}
    for event in timeline.of(Source.BROKER, event_name):
        found.setdefault(int(event.subject), []).append(event.at)
    return {broker: tuple(at) for broker, at in found.items()}


def _replicas(timeline: Timeline, run: Plan) -> dict[Place, tuple[Replicas, ...]]:
    """Return the replicas each partition was created with, and those it was proved to be given."""
    created = {
        (topic.name, partition): topic.assignment.get(partition, ())
        for topic in run.topics
        for partition in range(topic.partitions)
    }
    if run.metadata.source.strength is Strength.OBSERVED:
        return _polled_replicas(timeline, created)
    given = {fault.name: fault.target_replicas for fault in run.faults}
    moves: dict[tuple[Place, str], Replicas] = {}
    for event in timeline.of(Source.FAULT, EventName.OBSERVED):
        for proof in event.detail.get("observations") or ():
            topic, _, partition = str(proof.get("subject")).rpartition("-")
            place = (topic, int(partition) if partition.isdigit() else -1)
            if (
                proof.get("kind") == ObservationKind.REPLICAS_MOVED
                and place in created
                and given.get(event.subject)
            ):
                # Each telling of an effect tells all its observations again.
                moves.setdefault((place, event.subject), (int(proof["at"]), given[event.subject]))
    return {
        place: ((0, ids), *sorted(move for (moved, _), move in moves.items() if moved == place))
        for place, ids in created.items()
    }


def _polled_replicas(
    timeline: Timeline, created: Mapping[Place, tuple[int, ...]]
) -> dict[Place, tuple[Replicas, ...]]:
    """Return the replicas of each partition as they were seen, with those of the plan before."""
    seen: dict[Place, list[Replicas]] = {place: [(0, ids)] for place, ids in created.items()}
    for event in timeline.of(Source.PARTITION, EventName.STATE):
        topic, _, partition = event.subject.rpartition("-")
        replicas = tuple(int(broker) for broker in event.detail.get("replicas") or ())
        history = seen.get((topic, int(partition) if partition.isdigit() else -1))
        if history is not None and replicas and history[-1][1] != replicas:
            history.append((event.at, replicas))
    return {place: tuple(history) for place, history in seen.items()}


def name(place: Place) -> str:
    """Return a partition as Kafka writes it: ``foo-0``."""
    return f"{place[0]}-{place[1]}"


def names(places: set[Place]) -> str:
    """Return partitions in order, at most eight of them."""
    return short_list([name(place) for place in sorted(places)], 8)
