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
    """What a consumer with commit: Transactional makes of each record it is handed."""

    topic: TopicName = Field(
        description="Topic written to, one of spec.topics: one record for each that was read, "
        "with its key. No consumer with commit: Transactional may read it."
    )
    records_per_transaction: int = Field(
        default=500,
        ge=1,
        le=10_000,
        description="Records in each transaction at most; it ends after 500 ms with fewer.",
    )
    abort_permille: int = Field(
        default=0,
        ge=0,
        le=900,
        description="Share of transactions aborted after their offsets were sent, in permille, by "
        "the seed; what they read is read again.",
    )
    value_bytes: int = Field(
        default=200,
        ge=128,
        le=1_000_000,
        description="Size of a record's value in bytes; 128 hold the identity and checksum.",
    )
    compression: Compression = Field(
        default=Compression.NONE, description="Compression of batches."
    )
    config: Settings = Field(
        default={},
        description="Settings of the producing client (librdkafka's names), over its defaults. "
        "It writes with acks: all, idempotence and a transactional.id of each pod's own.",
        json_schema_extra=client_config(PRODUCER),
    )


class Consumer(ApiModel):
    """Pods of one consumer group."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="has(self.output) == (self.commit == 'Transactional')",
            message="output goes with commit: Transactional, and with no other",
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
        description="Topics read, each one of spec.topics.", json_schema_extra=LIST_SET
    )
    group: Annotated[
        str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-zA-Z0-9._-]+$")
    ] = Field(description="Consumer group, of this entry alone.")
    replicas: int = Field(
        default=1, ge=1, le=MAX_REPLICAS, description="Number of pods in the group."
    )
    commit: Commit = Field(
        default=Commit.AFTER_PROCESSING,
        description="When offsets are committed: AfterProcessing (at least once), "
        "BeforeProcessing (at most once), Auto (by the client, from stored offsets), Transactional "
        "(exactly once: in the transaction that writes what was made of the records).",
    )
    output: Output | None = Field(
        default=None,
        description="What is made of the records; with commit: Transactional, and only then.",
    )
    isolation: Isolation = Field(
        default=Isolation.READ_COMMITTED, description="Which records of transactions are seen."
    )
    config: Settings = Field(
        default={},
        description="Settings of the client (librdkafka's names), over its defaults. "
        "bootstrap.servers, group.id, isolation.level and the commit settings are set by fields.",
        json_schema_extra=client_config(CONSUMER),
    )
    resources: Resources = Field(default=TRAFFIC_RESOURCES, description="Resources of each pod.")
