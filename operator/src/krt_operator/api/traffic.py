"""The traffic of a test: producers and consumers."""

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, WithJsonSchema

from krt_contract.clients import Acks
from krt_operator.api.base import (
    MAX_ITEMS,
    ApiModel,
    Rule,
    ShortName,
    TopicName,
    list_map,
    rules,
)
from krt_operator.api.clients import MAX_REPLICAS, TRAFFIC_RESOURCES, Compression
from krt_operator.api.consumers import Consumer
from krt_operator.api.kafka import Settings
from krt_operator.api.reserved import PRODUCER, client_config
from krt_operator.api.resources import Resources


def _acks(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


AcksField = Annotated[
    Acks,
    BeforeValidator(_acks),
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "maxLength": 16,
            **rules(
                Rule(
                    rule="string(self) in ['all', '1', '0']",
                    message="acks must be all, 1 or 0",
                )
            ),
        }
    ),
]
"""`acks` as users write it: a word or a number."""


class Transactional(ApiModel):
    """Writes in transactions, some of which are aborted on purpose."""

    records_per_transaction: int = Field(
        default=50, ge=1, le=10_000, description="Records in each transaction."
    )
    abort_permille: int = Field(
        default=100,
        ge=0,
        le=1000,
        description="Share of transactions that are aborted, in permille, chosen by the seed.",
    )


class Producer(ApiModel):
    """Pods that write to one topic at a fixed rate."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(self.enableIdempotence) || !self.enableIdempotence || "
            "string(self.acks) == 'all'",
            message="enableIdempotence needs acks: all",
            expression="'producer ' + self.name + ': enableIdempotence needs acks: all'",
        ),
        Rule(
            rule="!has(self.transactional) || (string(self.acks) == 'all' && "
            "(!has(self.enableIdempotence) || self.enableIdempotence))",
            message="transactional needs idempotence",
            expression="'producer ' + self.name + "
            "': transactional needs acks: all and enableIdempotence'",
        ),
    )

    name: ShortName = Field(description="Name; pods are <test>-producer-<name>-<replica>.")
    topic: TopicName = Field(description="Topic to write to, one of spec.topics.")
    replicas: int = Field(default=1, ge=1, le=MAX_REPLICAS, description="Number of pods.")
    acks: AcksField = Field(
        default=Acks.ALL,
        description="Which replicas acknowledge a write: all, 1 (the leader) or 0 (none).",
    )
    enable_idempotence: bool | None = Field(
        default=None,
        description="Whether the producer is idempotent. Needs acks: all. Unset: true with acks: "
        "all, else false, as in Kafka's own client.",
    )
    transactional: Transactional | None = Field(
        default=None,
        description="Transactions of the producer; needs idempotence. Unset: no transactions.",
    )
    records_per_second: int = Field(
        default=500,
        ge=1,
        le=100_000,
        description="Records that each pod sends per second, whatever happens to earlier ones.",
    )
    value_bytes: int = Field(
        default=200,
        ge=128,
        le=1_000_000,
        description="Size of a record's value in bytes. 128 are needed for identity and checksum.",
    )
    key_count: int = Field(default=5, ge=1, le=10_000, description="Number of different keys.")
    compression: Compression = Field(
        default=Compression.NONE, description="Compression of batches."
    )
    config: Settings = Field(
        default={},
        description="Settings of the client, as in librdkafka, in place of its defaults. "
        "bootstrap.servers, acks, enable.idempotence, transactional.id are set by fields.",
        json_schema_extra=client_config(PRODUCER),
    )
    resources: Resources = Field(default=TRAFFIC_RESOURCES, description="Resources of each pod.")


class Traffic(ApiModel):
    """Producers and consumers."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="self.consumers.all(c, self.consumers.exists_one(d, d.group == c.group))",
            message="two consumers have the same group; use one of them and raise its replicas",
            expression="'group %s is in two consumers; use one of them and raise its "
            "replicas'.format([self.consumers.filter(c, !self.consumers.exists_one(d, d.group == "
            "c.group))[0].group])",
        ),
        Rule(
            rule="self.consumers.all(c, !has(c.output) || "
            "!self.producers.exists(p, p.name == c.name))",
            message="a consumer with an output has the name of a producer; rename the consumer",
            expression="'consumer %s has an output, so its name must not be a producer\\'s'"
            ".format([self.consumers.filter(c, has(c.output) && "
            "self.producers.exists(p, p.name == c.name))[0].name])",
        ),
        Rule(
            rule="self.consumers.all(c, !has(c.output) || "
            "!self.consumers.exists(d, has(d.output) && c.output.topic in d.topics))",
            message="output.topic is read by a consumer that also has an output",
            expression="'consumer %s: output.topic must not be read by a consumer with an output'"
            ".format([self.consumers.filter(c, has(c.output) && self.consumers.exists(d, "
            "has(d.output) && c.output.topic in d.topics))[0].name])",
        ),
    )

    producers: Annotated[tuple[Producer, ...], Field(min_length=1, max_length=MAX_ITEMS)] = Field(
        description="Producers, by name.", json_schema_extra=list_map("name")
    )
    consumers: Annotated[tuple[Consumer, ...], Field(min_length=1, max_length=MAX_ITEMS)] = Field(
        description="Consumer groups, by name.", json_schema_extra=list_map("name")
    )
