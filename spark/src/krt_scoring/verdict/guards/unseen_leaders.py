"""Leaders of the tested partitions that were not recorded.

The rules read from the recorded states who led in which epoch. Epochs grow by one with each
leader, so a missing epoch is a leader that was not seen. In a silence of ZooKeeper that lasts until
the recorder ends, any partition may have had another leader, and no later epoch shows it.

Of a polled cluster a missing epoch hides nothing that the rules need: an election stands for all
between two states. What may be missing is the time before a partition was first seen, unless it
was seen in epoch 0, and all of a partition that was never seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.metadata import Strength
from krt_contract.short_list import short_list
from krt_contract.timeline import EventName, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.inputs.recording import Recording

NAMED = 8
"""Partitions that a message names; the rest is counted."""


@dataclass(frozen=True, slots=True)
class UnseenLeaders:
    """A time in which a partition may have had a leader that was not recorded.

    Attributes:
        topic: its topic.
        partition: as Kafka writes it, ``foo-0``.
        start: the last state that was recorded before, UTC µs.
        end: the next one, UTC µs; None where none was recorded any more.
    """

    topic: str
    partition: str
    start: int
    end: int | None


def find(recording: Recording) -> tuple[UnseenLeaders, ...]:
    """Return the times in which a tested partition may have had another leader."""
    observed = recording.run.metadata.source.strength is Strength.OBSERVED
    missing = _not_polled(recording) if observed else _missing_epochs(recording)
    return (*missing, *_until_the_end(recording))


def _missing_epochs(recording: Recording) -> Iterator[UnseenLeaders]:
    tested = {topic.name for topic in recording.run.topics}
    last: dict[str, tuple[int, int]] = {}
    states = recording.timeline.of(Source.PARTITION, EventName.STATE)
    for event in sorted(states, key=lambda e: (e.subject, int(e.detail.get("version", 0)))):
        topic = event.subject.rpartition("-")[0]
        if topic not in tested:
            continue
        epoch = int(event.detail["leader_epoch"])
        before, at = last.get(event.subject, (epoch, event.at))
        if epoch > before + 1:
            yield UnseenLeaders(topic, event.subject, at, event.at)
        last[event.subject] = (epoch, event.at)


def _not_polled(recording: Recording) -> Iterator[UnseenLeaders]:
    """Yield the times before the first poll that saw a partition, if there was an epoch before."""
    first: dict[str, tuple[int, int]] = {}
    for event in recording.timeline.of(Source.PARTITION, EventName.STATE):
        first.setdefault(event.subject, (event.at, int(event.detail["leader_epoch"])))
    for topic in recording.run.topics:
        for number in range(topic.partitions):
            partition = f"{topic.name}-{number}"
            at, epoch = first.get(partition, (None, 1))
            sent, _ = recording.inspection.sends
            if epoch and (at is None or sent < at):
                yield UnseenLeaders(topic.name, partition, sent, at)


def _until_the_end(recording: Recording) -> Iterator[UnseenLeaders]:
    start = recording.timeline.unobserved_from()
    if start is None:
        return
    for topic in recording.run.topics:
        for partition in range(topic.partitions):
            yield UnseenLeaders(topic.name, f"{topic.name}-{partition}", start, None)


def names(unseen: tuple[UnseenLeaders, ...]) -> str:
    """Return the partitions in order, at most NAMED of them."""
    return short_list(sorted({item.partition for item in unseen}), NAMED)
