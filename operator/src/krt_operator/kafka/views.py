"""The state of the Kafka under test at one moment, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_BROKER = -1
"""Kafka's id for no broker: a partition without a leader, a cluster without a controller."""


@dataclass(frozen=True, slots=True)
class Broker:
    """A registered broker: its id and advertised host."""

    id: int
    host: str


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition: its leader (`NO_BROKER` if none), replicas and in-sync replicas as ids."""

    topic: str
    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]

    @property
    def name(self) -> str:
        """The partition as Kafka's logs write it, `foo-0`."""
        return f"{self.topic}-{self.partition}"

    @property
    def fully_replicated(self) -> bool:
        """Whether it has a leader and every replica is in sync."""
        return self.leader != NO_BROKER and set(self.isr) == set(self.replicas)


@dataclass(frozen=True, slots=True)
class Quorum:
    """The quorum of the KRaft controllers, as its leader describes it.

    Attributes:
        leader: node id of the active controller.
        epoch: its epoch, which grows with every election.
        in_sync: node ids of the voters that fetch the metadata log from it, and its own.
    """

    leader: int
    epoch: int
    in_sync: frozenset[int]


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster's metadata: brokers, the controller's id, every partition.

    Attributes:
        brokers: those that are registered; in KRaft mode, and not fenced.
        controller: the active controller: a broker, or in KRaft mode a node of the quorum;
            `NO_BROKER` where there is none.
        partitions: every partition, internal topics included.
        quorum: of the KRaft controllers; None in ZooKeeper mode, or where it has no leader.
    """

    brokers: tuple[Broker, ...]
    controller: int
    partitions: tuple[Partition, ...]
    quorum: Quorum | None = None

    @property
    def broker_ids(self) -> frozenset[int]:
        """Ids of the brokers that are registered."""
        return frozenset(broker.id for broker in self.brokers)

    def partition(self, topic: str, number: int) -> Partition | None:
        """The partition of that topic and number, None where the cluster does not know it."""
        return next(
            (p for p in self.partitions if p.topic == topic and p.partition == number), None
        )


@dataclass(frozen=True, slots=True)
class Bounds:
    """The start and end offsets of a partition's log, and its leader when they were read.

    `high_watermark` is one past the last replicated record, `last_stable` one past the last record
    that no open transaction holds back. `leader_epoch` is None while the leader has none.
    `taken_at` is in UTC microseconds.
    """

    topic: str
    partition: int
    taken_at: int
    log_start: int
    high_watermark: int
    last_stable: int
    leader: int
    leader_epoch: int | None
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a consumer group: its ids, its address, its partitions."""

    member_id: str
    client_id: str
    host: str
    partitions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """A consumer group: its state by Kafka's name, coordinator, members, committed offsets."""

    group: str
    state: str
    coordinator: int
    members: tuple[GroupMember, ...]
    committed: Mapping[tuple[str, int], int]

    @property
    def stable(self) -> bool:
        """Whether it has members and is not rebalancing."""
        return self.state == "Stable" and bool(self.members)
