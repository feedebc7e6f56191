"""The states of the tested partitions over time, as ZooKeeper held them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Self

from krt_scoring.derive.elections import NO_LEADER, State, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.run_info import RunInfo
    from krt_scoring.timeline import Timeline

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class States:
    """Partition → its states in the order ZooKeeper had them; tested topics only.

    Attributes:
        known: a partition nobody saw has no entry.
        replicas: partition → broker ids, the preferred leader first.
    """

    known: Mapping[Place, tuple[State, ...]]
    replicas: Mapping[Place, tuple[int, ...]]

    @classmethod
    def of(cls, timeline: Timeline, run: RunInfo) -> Self:
        """Return the states that a timeline shows."""
        replicas = {
            (topic.name, partition): topic.assignment.get(partition, ())
            for topic in run.topics
            for partition in range(topic.partitions)
        }
        found: dict[Place, dict[tuple[int, int], State]] = {place: {} for place in replicas}
        for event in timeline.of("partition", "state"):
            topic, _, partition = event.subject.rpartition("-")
            place = (topic, int(partition) if partition.isdigit() else -1)
            if place not in found:
                continue
            state = state_of(event)
            found[place].setdefault((state.epoch, state.version), state)
        known = {
            place: tuple(states[key] for key in sorted(states))
            for place, states in sorted(found.items())
            if states
        }
        return cls(known, replicas)

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

    def missed(self, start: int, end: int) -> bool:
        """Whether a state between two times was not seen: a version is missing, or a partition."""
        return len(self.known) < len(self.replicas) or any(
            after.version > before.version + 1 for _, before, after in self.changes(start, end)
        )


def name(place: Place) -> str:
    """Return a partition as Kafka writes it: ``foo-0``."""
    return f"{place[0]}-{place[1]}"


def names(places: set[Place]) -> str:
    """Return partitions in order, at most eight of them."""
    ordered = [name(place) for place in sorted(places)]
    more = f" and {len(ordered) - 8} more" if len(ordered) > 8 else ""  # noqa: PLR2004 (see above)
    return ", ".join(ordered[:8]) + more
