"""The specification of a test, as the API server admits it."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from krt_contract.clients import Acks, Commit, Isolation
from krt_contract.faults import Action
from krt_contract.metadata import MetadataMode
from krt_operator.api.base import (
    MAX_ITEMS,
    ApiModel,
    Rule,
    list_map,
    rules,
)
from krt_operator.api.broker_pods import BrokerPods
from krt_operator.api.clients import Compression
from krt_operator.api.consumers import Consumer, Output
from krt_operator.api.crossrefs import CROSS_REFERENCES
from krt_operator.api.durations import Duration
from krt_operator.api.evidence import Evidence
from krt_operator.api.expect import Expect
from krt_operator.api.expect_rules import EXPECT
from krt_operator.api.faults import Fault, StartEvent, StartsAfter
from krt_operator.api.kafka import (
    Controllers,
    Kafka,
    Metadata,
    Placement,
    Rack,
    Separation,
    Storage,
    Topic,
    ZooKeeper,
)
from krt_operator.api.kafka_ref import KafkaRef
from krt_operator.api.kafka_ref_rules import KAFKA_REF
from krt_operator.api.metadata_rules import METADATA
from krt_operator.api.pods import PodTemplate
from krt_operator.api.resources import Resources
from krt_operator.api.scoring import (
    Objectives,
    Scoring,
    SparkPod,
    Timeouts,
)
from krt_operator.api.security_rules import SECURITY
from krt_operator.api.targets import BROKER_ROLES, Role, Target
from krt_operator.api.traffic import Producer, Traffic, Transactional

__all__ = [
    "Acks",
    "Action",
    "Cleanup",
    "Commit",
    "Compression",
    "Consumer",
    "Controllers",
    "Duration",
    "Evidence",
    "Expect",
    "Fault",
    "Isolation",
    "Kafka",
    "KafkaRef",
    "Metadata",
    "MetadataMode",
    "Objectives",
    "Output",
    "Placement",
    "PodTemplate",
    "Producer",
    "Rack",
    "Resources",
    "Role",
    "Scoring",
    "Separation",
    "SparkPod",
    "Spec",
    "StartEvent",
    "StartsAfter",
    "Storage",
    "Target",
    "Timeouts",
    "Topic",
    "Traffic",
    "Transactional",
    "ZooKeeper",
]


class Cleanup(StrEnum):
    """What becomes of members, traffic and volumes at the end."""

    DELETE = "Delete"
    RETAIN = "Retain"


class Spec(ApiModel):
    """The cluster, its traffic, the faults, and how the run is scored.

    Immutable, except for `abort`, which can be set once.
    """

    cel: ClassVar[tuple[Rule, ...]] = (*CROSS_REFERENCES, *EXPECT, *METADATA, *SECURITY, *KAFKA_REF)

    kafka: Kafka = Field(
        default=Kafka(), description="The brokers that the test deploys; not with kafkaRef."
    )
    kafka_ref: KafkaRef | None = Field(
        default=None,
        description="An existing cluster, in place of one that the test deploys.",
    )
    zookeeper: ZooKeeper | None = Field(
        default=None,
        description="The ZooKeeper ensemble; only in ZooKeeper mode. Unset there: three servers "
        "with the defaults below.",
    )
    placement: Placement = Field(default=Placement(), description="Where members may run.")
    pod_template: PodTemplate = Field(
        default=PodTemplate(), description="Settings added to every pod."
    )
    topics: Annotated[tuple[Topic, ...], Field(min_length=1, max_length=MAX_ITEMS)] = Field(
        description="Topics under test, by name.", json_schema_extra=list_map("name")
    )
    traffic: Traffic = Field(description="Producers and consumers.")
    warmup: Duration = Field(
        default=Duration(15_000_000),
        description="Undisturbed traffic before the first fault.",
        json_schema_extra=rules(
            Rule(
                rule="duration(self) >= duration('5s') && duration(self) <= duration('30m')",
                message="warmup must be from 5s to 30m: it measures the latency before the faults",
            )
        ),
    )
    faults: Annotated[tuple[Fault, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Faults, by name; each waits for the previous one unless startsAfter is set.",
        json_schema_extra=list_map("name"),
    )
    expect: Expect = Field(
        default=Expect(),
        description="What Kafka is expected to do in the test. Scoring evaluates it against the "
        "evidence; the verdict does not depend on it.",
    )
    timeouts: Timeouts = Field(default=Timeouts(), description="Deadlines.")
    scoring: Scoring = Field(default=Scoring(), description="How the run is scored.")
    seed: int = Field(default=42, ge=0, le=2**31 - 1, description="Seed of every random choice.")
    evidence: Evidence = Field(default=Evidence(), description="Where the evidence is written.")
    cleanup: Cleanup = Field(
        default=Cleanup.DELETE,
        description="Delete: members, traffic and volumes are deleted at the end of the run. "
        "Retain: they stay until the resource is deleted. The evidence always stays.",
    )
    abort: bool = Field(
        default=False,
        description="Set to true to end the run early. It cannot be reset to false.",
    )
    ttl_seconds_after_finished: int | None = Field(
        default=None,
        ge=0,
        le=31_536_000,
        description="Seconds from the end of the run until the resource is deleted; unset: never.",
    )

    def resolve(self) -> Self:
        """Return the same specification with every default that depends on another field set.

        These are each producer's `enable_idempotence`, each fault's `starts_after.fault`, which
        stays None for a fault that waits for the warm-up, and the servers of the metadata of a
        cluster that the test deploys.
        """
        producers = tuple(
            producer
            if producer.enable_idempotence is not None
            else producer.model_copy(update={"enable_idempotence": producer.acks is Acks.ALL})
            for producer in self.traffic.producers
        )
        faults, before = [], None
        for fault in self.faults:
            after = fault.starts_after
            if after.fault is None:
                after = after.model_copy(update={"fault": before})
            faults.append(fault.model_copy(update={"starts_after": after}))
            before = fault.name
        changed: dict[str, Any] = {
            "traffic": self.traffic.model_copy(update={"producers": producers}),
            "faults": tuple(faults),
        }
        if self.kafka_ref is not None:
            return self.model_copy(update=changed)
        if self.kraft:
            metadata = self.kafka.metadata.model_copy(update={"controllers": self.ensemble})
            changed["kafka"] = self.kafka.model_copy(update={"metadata": metadata})
        else:
            changed["zookeeper"] = self.ensemble
        return self.model_copy(update=changed)

    @property
    def broker_faults(self) -> tuple[Fault, ...]:
        """The faults on brokers of a cluster that is there already."""
        if self.kafka_ref is None:
            return ()
        return tuple(fault for fault in self.faults if fault.target.role in BROKER_ROLES)

    @property
    def broker_pods(self) -> BrokerPods | None:
        """The pods on which these faults act; None where there is no such fault."""
        if self.kafka_ref is None or not self.broker_faults:
            return None
        return self.kafka_ref.pods

    @property
    def kraft(self) -> bool:
        """Whether KRaft controllers keep the cluster's metadata."""
        return self.kafka.metadata.mode is MetadataMode.KRAFT

    @property
    def ensemble(self) -> ZooKeeper | Controllers:
        """The servers that keep the cluster's metadata."""
        if self.kraft:
            return self.kafka.metadata.controllers or Controllers()
        return self.zookeeper or ZooKeeper()

    @property
    def ensemble_field(self) -> str:
        """The path of `ensemble` in the resource, for messages."""
        return "spec.kafka.metadata.controllers" if self.kraft else "spec.zookeeper"

    @property
    def separation(self) -> Separation:
        """Whether these servers may share a node with a broker."""
        placement = self.placement
        return placement.separate_controllers if self.kraft else placement.separate_zookeeper

    @property
    def separation_field(self) -> str:
        """The path of `separation` in the resource, for messages."""
        name = "separateControllers" if self.kraft else "separateZooKeeper"
        return f"spec.placement.{name}"
