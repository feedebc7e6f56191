"""The producers and consumers of a run, resolved from ``spec.traffic`` of the plan.

A default that is set here is what an imported history leaves out; the controller writes every
field.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from krt_contract.errors import ContractError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.fields import Fields


class Acks(StrEnum):
    """Which replicas confirm a write."""

    ALL = "all"
    ONE = "1"
    NONE = "0"

    @classmethod
    def _missing_(cls, value: object) -> Acks | None:
        """Take Kafka's other way to write ``all``."""
        return cls.ALL if value == "-1" else None


class Commit(StrEnum):
    """When a consumer commits what it was handed."""

    AFTER_PROCESSING = "AfterProcessing"
    BEFORE_PROCESSING = "BeforeProcessing"
    AUTO = "Auto"
    TRANSACTIONAL = "Transactional"


class Isolation(StrEnum):
    """Which records of transactions a consumer sees."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


@dataclass(frozen=True, slots=True)
class Transactions:
    """How a transactional producer divides its records.

    Attributes:
        records: sends in a transaction.
        abort_permille: share of transactions aborted on purpose, by the seed.
    """

    records: int
    abort_permille: int = 0

    @classmethod
    def read(cls, fields: Fields) -> Transactions:
        """Read ``recordsPerTransaction`` and ``abortPermille``."""
        return cls(
            fields.integer("recordsPerTransaction"), fields.integer("abortPermille", default=0)
        )


@dataclass(frozen=True, slots=True)
class ProducerSpec:
    """One entry of ``spec.traffic.producers``, or what a Transactional consumer writes.

    Attributes:
        name: the entry's name.
        topic: where it writes.
        partitions: number of partitions of that topic.
        replicas: pods of the entry.
        acks: which replicas confirm a write.
        idempotent: whether the client numbers its batches.
        transactions: None where it writes outside transactions.
        records_per_second: rate of each pod. 0: as fast as the client takes them, or as fast as
            the input of a Transactional consumer comes.
        value_bytes: length of a value.
        key_count: number of different keys.
        compression: the client's compression.type.
        config: further settings of the client.
    """

    name: str
    topic: str
    partitions: int
    replicas: int = 1
    acks: Acks = Acks.ALL
    idempotent: bool = True
    transactions: Transactions | None = None
    records_per_second: int = 0
    value_bytes: int = 0
    key_count: int = 1
    compression: str = "none"
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def transactional(self) -> bool:
        """Whether it writes in transactions."""
        return self.transactions is not None

    @property
    def identities(self) -> tuple[str, ...]:
        """The producer identities in the evidence, ``<name>-<replica>``."""
        return identities(self.name, self.replicas)

    @classmethod
    def read(cls, fields: Fields, partitions: Mapping[str, int]) -> ProducerSpec:
        """Read an entry of ``spec.traffic.producers``.

        Args:
            fields: the entry.
            partitions: topic → its number of partitions.

        Raises:
            ContractError: a field is missing or of another type, or the topic is not in the plan.
        """
        acks = fields.choice("acks", Acks, default=Acks.ALL)
        transactional = fields.has("transactional")
        return cls(
            name=fields.word("name"),
            topic=fields.word("topic"),
            partitions=_partitions(fields.where("topic"), fields.word("topic"), partitions),
            replicas=fields.integer("replicas", default=1),
            acks=acks,
            # Unset means what Kafka's own client does.
            idempotent=fields.flag("enableIdempotence", default=acks is Acks.ALL),
            transactions=Transactions.read(fields.child("transactional"))
            if transactional
            else None,
            records_per_second=fields.integer("recordsPerSecond", default=0),
            value_bytes=fields.integer("valueBytes", default=0),
            key_count=fields.integer("keyCount", default=1),
            compression=fields.word("compression", default="none"),
            config=fields.settings("config"),
        )


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """One entry of ``spec.traffic.consumers``.

    Attributes:
        name: the entry's name.
        topics: what it reads, with the number of partitions of each.
        group: consumer group.
        replicas: pods of the entry.
        commit: when it commits.
        isolation: which records of transactions it sees.
        static_membership: whether each pod is a static member of the group (KIP-345), with its
            identity as ``group.instance.id``.
        config: further settings of the client.
        output: with Transactional, the producer of what it makes of each record; it has the
            consumer's name and replicas. Else None.
    """

    name: str
    topics: Mapping[str, int]
    group: str
    replicas: int = 1
    commit: Commit = Commit.AFTER_PROCESSING
    isolation: Isolation = Isolation.READ_COMMITTED
    static_membership: bool = False
    config: Mapping[str, str] = field(default_factory=dict)
    output: ProducerSpec | None = None

    @property
    def identities(self) -> tuple[str, ...]:
        """The consumer identities in the evidence, ``<name>-<replica>``."""
        return identities(self.name, self.replicas)

    @classmethod
    def read(cls, fields: Fields, partitions: Mapping[str, int]) -> ConsumerSpec:
        """Read an entry of ``spec.traffic.consumers``.

        Args:
            fields: the entry.
            partitions: topic → its number of partitions.

        Raises:
            ContractError: a field is missing or of another type, or a topic is not in the plan.
        """
        where = fields.where("topics")
        name, replicas = fields.word("name"), fields.integer("replicas", default=1)
        output = fields.child("output") if fields.has("output") else None
        return cls(
            name=name,
            topics={
                topic: _partitions(where, topic, partitions) for topic in fields.texts("topics")
            },
            group=fields.word("group"),
            replicas=replicas,
            commit=fields.choice("commit", Commit, default=Commit.AFTER_PROCESSING),
            isolation=fields.choice("isolation", Isolation, default=Isolation.READ_COMMITTED),
            static_membership=fields.flag("staticMembership", default=False),
            config=fields.settings("config"),
            output=_output(output, name, replicas, partitions) if output else None,
        )


def identities(name: str, replicas: int) -> tuple[str, ...]:
    """Return the identities of an entry's pods in the evidence, ``<name>-<replica>``."""
    return tuple(f"{name}-{replica}" for replica in range(replicas))


def _output(
    fields: Fields, name: str, replicas: int, partitions: Mapping[str, int]
) -> ProducerSpec:
    topic = fields.word("topic")
    return ProducerSpec(
        name=name,
        topic=topic,
        partitions=_partitions(fields.where("topic"), topic, partitions),
        replicas=replicas,
        transactions=Transactions.read(fields),
        value_bytes=fields.integer("valueBytes", default=0),
        compression=fields.word("compression", default="none"),
        config=fields.settings("config"),
    )


def _partitions(where: str, topic: str, partitions: Mapping[str, int]) -> int:
    if topic not in partitions:
        known = ", ".join(sorted(partitions)) or "none"
        raise ContractError(f"{where} is {topic!r}, expected a topic of the plan: {known}")
    return partitions[topic]
