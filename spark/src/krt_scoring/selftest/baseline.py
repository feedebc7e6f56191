"""What corruptions are made from: some stretches of the evidence, in plain Python.

A *mutation point* is a stretch of one partition's log in which everything is in order: each record
is acked once, in the log once, and delivered once to each group that must get it, by one member, in
order, at a time at which no fault and no election matter. What is changed there has consequences
that follow from the stretch alone. The number of points bounds the memory, whatever the number of
records.

``event_seq`` and ``poll`` of consumers are counted in steps of ``STRIDE`` here and in the corrupted
copies, so that something can be put between two of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.outcomes import LogState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.groups import Group
    from krt_scoring.history.identity import Incarnation
    from krt_scoring.history.intervals import Interval
    from krt_scoring.selftest.patch import Place, Row, Sent

STRIDE = 4
"""Steps of ``event_seq`` and ``poll`` in a copy: room for three rows between any two."""

EDGE = 2
"""Records at either end of a point that stay as they are, so that points do not reach into what
lies beside them."""


@dataclass(frozen=True)
class Record:
    """One record of a mutation point: its send, its row in the log, group → its delivery."""

    send: Row
    log: Row
    got: Mapping[str, Row]

    @property
    def position(self) -> Place:
        """Where it lies."""
        return self.log["topic"], self.log["partition"], self.log["offset"]

    @property
    def sent(self) -> Sent:
        """Its identity."""
        return self.send["producer"], self.send["producer_incarnation"], self.send["seq"]

    @property
    def offset(self) -> int:
        """Its offset."""
        return int(self.log["offset"])

    @property
    def aborted(self) -> bool:
        """Whether it lies in the log as part of an aborted transaction."""
        return bool(self.log["state"] == LogState.ABORTED)

    @property
    def deliveries(self) -> list[Row]:
        """Its deliveries to all groups."""
        return [self.got[group] for group in sorted(self.got)]


@dataclass(frozen=True)
class MutationPoint:
    """A stretch of a partition's log; ``last`` where it ends with the partition's last record."""

    records: tuple[Record, ...]
    last: bool

    @property
    def inner(self) -> range:
        """Indices of the records that may be changed."""
        return range(EDGE, len(self.records) - EDGE)

    @property
    def position(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.records[0].position[:2]

    def around(self, group: str, low: int, high: int) -> bool:
        """Whether a group read something of the point on either side of some offsets.

        What it read next to them would else lie outside, and a step from there as well.
        """
        read = [row["offset"] for row in self.read(group)]
        return bool(read) and read[0] < low and read[-1] > high

    def read(self, group: str) -> list[Row]:
        """Return the deliveries to a group, in order."""
        return [record.got[group] for record in self.records if group in record.got]


@dataclass(frozen=True)
class Baseline:
    """Everything corruptions are made from.

    Attributes:
        facts: the run's small facts.
        points: in an order of their own by seed.
        owned: ownerships; ``first_n`` and ``last_n`` in steps of ``STRIDE``.
        causes: group index → when members came or left, UTC µs.
        commits: (group, topic, partition) → its commits, the highest first.
        commits_cut: those of them of which only the highest are kept.
        in_flight: a send → the sends acked while it was under way, itself included.
        troubled: (group, topic, partition) about which something was found.
        lost_commits: indices of groups whose commits the configuration permits to be lost.
        states: (topic, partition) → (at, in-sync replicas), in order.
        doubts: (topic, partition) → (begin, end) in which a leader may not know of a new state.
        compared: (topic, partition) → brokers whose whole replicas are compared.
        replicas: a place → what each broker's replica holds there.
        reason_codes: codes of the reasons that the detection itself gave already.
        balanced: whether the ledger balances.
    """

    seed: int
    facts: Facts
    points: tuple[MutationPoint, ...]
    owned: tuple[Interval, ...]
    causes: Mapping[int, tuple[int, ...]]
    commits: Mapping[tuple[str, str, int], tuple[Row, ...]]
    commits_cut: frozenset[tuple[str, str, int]]
    in_flight: Mapping[Sent, tuple[Sent, ...]]
    troubled: frozenset[tuple[str | None, str | None, int | None]]
    lost_commits: frozenset[int]
    states: Mapping[tuple[str, int], tuple[tuple[int, tuple[int, ...]], ...]]
    doubts: Mapping[tuple[str, int], tuple[tuple[int, int], ...]]
    compared: Mapping[tuple[str, int], tuple[int, ...]]
    replicas: Mapping[Place, tuple[Row, ...]]
    reason_codes: frozenset[str]
    balanced: bool

    def chance(self, name: str) -> random.Random:
        """Return the chance a corruption draws from: the same for the same seed and name."""
        return random.Random(f"{self.seed} {name}")  # noqa: S311 (it chooses examples, no secrets)

    def positions(self, name: str) -> Iterator[tuple[MutationPoint, int]]:
        """Yield the records that may be changed, in an order by chance."""
        chance = self.chance(name)
        for point in chance.sample(self.points, len(self.points)):
            for index in chance.sample(point.inner, len(point.inner)):
                yield point, index

    def group(self, name: str) -> Group:
        """Return the group of that name."""
        return next(group for group in self.facts.groups if group.name == name)

    def closed(self, record: Record) -> bool:
        """Whether the record's producer wrote a close record."""
        return self.incarnation(record).summary is not None

    def incarnation(self, record: Record) -> Incarnation:
        """Return the incarnation that sent the record."""
        producer, incarnation, _ = record.sent
        return next(
            item
            for item in self.facts.incarnations.values()
            if (item.producer, item.incarnation) == (producer, incarnation)
        )

    def drained(self, group: str, record: Record) -> bool:
        """Whether a group read a record's partition to its end."""
        topic, partition, _ = record.position
        tp = self.facts.positions.tp(topic, partition)
        return self.facts.starts[self.group(group).index, tp].drained

    def end(self, topic: str, partition: int) -> int:
        """Return the first offset above the partition's log."""
        return self.facts.bounds[self.facts.positions.tp(topic, partition)].high_watermark
