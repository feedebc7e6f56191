"""The consumer groups of a test."""

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from krt_contract.clients import Commit, Isolation
from krt_operator.api.base import (
    LIST_SET,
    MAX_ITEMS,
    ApiModel,
    Rule,
    ShortName,
    TopicName,
)
from krt_operator.api.clients import MAX_REPLICAS, TRAFFIC_RESOURCES, Compression
from krt_operator.api.kafka import Settings
from krt_operator.api.reserved import CONSUMER, PRODUCER, client_config
from krt_operator.api.resources import Resources


class Output(ApiModel):
    """What a consumer with commit: Transactional writes: one record for each that it reads."""

    topic: TopicName = Field(
        description="Topic to write to, one of spec.topics. The consumer writes one record for "
        "each that it reads, with the same key. No consumer with an output may read the topic."
    )
    records_per_transaction: int = Field(
        default=500,
        ge=1,
        le=10_000,
        description="Records per transaction, at most. A transaction ends after 500 ms with fewer.",
    )
    abort_permille: int = Field(
        default=0,
        ge=0,
        le=900,
        description="Share of transactions that are aborted after their offsets were sent, in "
        "permille, chosen by the seed. Their records are read again.",
    )
    value_bytes: int = Field(
        default=200,
        ge=128,
        le=1_000_000,
        description="Size of a record's value in bytes. 128 are needed for identity and checksum.",
    )
    compression: Compression = Field(
        default=Compression.NONE, description="Compression of batches."
    )
    config: Settings = Field(
        default={},
        description="Settings of the producing client, as in librdkafka, in place of its defaults. "
        "The client uses acks: all, idempotence and a transactional.id per pod.",
        json_schema_extra=client_config(PRODUCER),
    )


class Consumer(ApiModel):
    """Pods of one consumer group."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="has(self.output) == (self.commit == 'Transactional')",
            message="output needs commit: Transactional, and commit: Transactional needs output",
            expression="'consumer ' + self.name + "
            "(has(self.output) ? ': output needs commit: Transactional' : "
            "': commit: Transactional needs output')",
        ),
        Rule(
            rule="self.commit != 'Transactional' || self.isolation == 'read_committed'",
            message="commit: Transactional needs isolation: read_committed",
            expression="'consumer ' + self.name + "
            "': commit: Transactional needs isolation: read_committed'",
        ),
    )

    name: ShortName = Field(description="Name; pods are <test>-consumer-<name>-<replica>.")
    topics: Annotated[tuple[TopicName, ...], Field(min_length=1, max_length=MAX_ITEMS)] = Field(
        description="Topics to read, each one of spec.topics.", json_schema_extra=LIST_SET
    )
    group: Annotated[
        str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-zA-Z0-9._-]+$")
    ] = Field(description="Consumer group; no other entry may have the same.")
    replicas: int = Field(
        default=1, ge=1, le=MAX_REPLICAS, description="Number of pods in the group."
    )
    commit: Commit = Field(
        default=Commit.AFTER_PROCESSING,
        description="When offsets are committed: AfterProcessing (at least once), "
        "BeforeProcessing (at most once), Auto (by the client, from stored offsets), Transactional "
        "(exactly once, in the transaction that writes the output).",
    )
    output: Output | None = Field(
        default=None,
        description="Output of the consumer; needs commit: Transactional.",
    )
    isolation: Isolation = Field(
        default=Isolation.READ_COMMITTED, description="Which records of transactions are read."
    )
    static_membership: bool = Field(
        default=False,
        description="Makes each pod a static member of the group, with <name>-<replica> as "
        "group.instance.id: a pod that is back within session.timeout.ms keeps its partitions, "
        "and no rebalance takes place.",
    )
    config: Settings = Field(
        default={},
        description="Settings of the client, as in librdkafka, in place of its defaults. "
        "bootstrap.servers, group.id, group.instance.id, isolation.level and the commit settings "
        "are set by fields.",
        json_schema_extra=client_config(CONSUMER),
    )
    resources: Resources = Field(default=TRAFFIC_RESOURCES, description="Resources of each pod.")
