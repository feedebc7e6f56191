"""The Kafka cluster under test: brokers, the servers of its metadata, placement, topics."""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from krt_contract.metadata import MetadataMode
from krt_operator.api.base import (
    LIST_SET,
    MAX_CONFIG_ENTRIES,
    MAX_ITEMS,
    ApiModel,
    LabelValue,
    ObjectName,
    Rule,
    SettingKey,
    SettingValue,
    TopicName,
)
from krt_operator.api.cluster_security import ClusterSecurity
from krt_operator.api.reserved import (
    broker_config,
    controller_config,
    topic_config,
    zookeeper_config,
)
from krt_operator.api.resources import Quantity, Resources

MAX_BROKERS = 9
MAX_ZOOKEEPERS = 7
MAX_CONTROLLERS = 7

Settings = Annotated[dict[SettingKey, SettingValue], Field(max_length=MAX_CONFIG_ENTRIES)]


class Storage(ApiModel):
    """The volume of one member, created and deleted with the test."""

    size: Quantity = Field(default="1Gi", description="Size of the claim.")
    storage_class_name: ObjectName | None = Field(
        default=None, description="Storage class of the claim; unset: the cluster's default class."
    )


class Rack(ApiModel):
    """How brokers are spread over racks."""

    topology_key: Annotated[str, StringConstraints(min_length=1, max_length=253)] = Field(
        default="topology.kubernetes.io/zone",
        description="Node label whose values are the racks. Brokers are assigned to the sorted "
        "values in turn, and report theirs as broker.rack.",
    )
    zones: Annotated[tuple[LabelValue, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Racks to use, in this order; empty: all values of topologyKey on the nodes. "
        "Required where the controller may not list nodes.",
        json_schema_extra=LIST_SET,
    )


class Controllers(ApiModel):
    """The KRaft controllers: dedicated members, with a static quorum."""

    replicas: int = Field(
        default=3, ge=1, le=MAX_CONTROLLERS, description="Number of KRaft controllers."
    )
    config: Settings = Field(
        default={},
        description="Controller settings, in place of Kafka's defaults. Settings of "
        "spec.kafka.config that a controller acts on (min.insync.replicas, "
        "unclean.leader.election.enable, broker.session.timeout.ms) are given to the controllers, "
        "too.",
        json_schema_extra=controller_config(),
    )
    storage: Storage = Field(default=Storage(), description="The volume of each controller.")
    resources: Resources = Field(
        default=Resources.of(cpu="50m", memory="256Mi", limit="384Mi"),
        description="Resources of each controller container. Half of the memory limit is the JVM's "
        "heap.",
    )


class Metadata(ApiModel):
    """Where the cluster keeps its metadata."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="self.mode == 'KRaft' || !has(self.controllers)",
            message="metadata.controllers is for mode KRaft; set spec.kafka.metadata.mode to "
            "KRaft, or use spec.zookeeper",
        ),
    )

    mode: MetadataMode = Field(
        default=MetadataMode.ZOOKEEPER,
        description="ZooKeeper: in the ensemble of spec.zookeeper, with Kafka 3.9. KRaft: in "
        "dedicated controllers, with Kafka 3.9 or later.",
    )
    controllers: Controllers | None = Field(
        default=None, description="The KRaft controllers; only in mode KRaft."
    )


class Kafka(ApiModel):
    """The brokers."""

    image: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = Field(
        default=None,
        description="Image with Kafka's jars in /opt/kafka/libs, Java and bash; unset: the chart's "
        "images.kafka in ZooKeeper mode, images.kafkaKRaft in KRaft mode. ZooKeeper and KRaft "
        "controllers run from the same image.",
    )
    replicas: int = Field(default=3, ge=1, le=MAX_BROKERS, description="Number of brokers.")
    metadata: Metadata = Field(
        default=Metadata(), description="Where the cluster keeps its metadata."
    )
    security: ClusterSecurity | None = Field(
        default=None,
        description="TLS, SASL and an authorizer. Unset: all listeners are in plaintext and let "
        "everybody in.",
    )
    rack: Rack = Field(default=Rack(), description="How brokers are spread over racks.")
    config: Settings = Field(
        default={},
        description="Broker settings, in place of Kafka's defaults. The controller sets those "
        "that form the cluster (listeners, broker.id, broker.rack, log.dirs, zookeeper.connect, "
        "process.roles, controller.quorum.voters).",
        json_schema_extra=broker_config(),
    )
    storage: Storage = Field(default=Storage(), description="The volume of each broker.")
    termination_grace_period_seconds: int = Field(
        default=30,
        ge=0,
        le=3600,
        description="Seconds a deleted broker has for its controlled shutdown.",
    )
    resources: Resources = Field(
        default=Resources.of(cpu="100m", memory="512Mi", limit="768Mi"),
        description="Resources of each broker container. Half of the memory limit is the JVM's "
        "heap.",
    )


class ZooKeeper(ApiModel):
    """The ZooKeeper ensemble of the brokers."""

    replicas: int = Field(
        default=3, ge=1, le=MAX_ZOOKEEPERS, description="Number of ZooKeeper servers."
    )
    config: Settings = Field(
        default={},
        description="ZooKeeper settings, in place of its defaults. The controller sets dataDir, "
        "clientPort, server.N and the 4lw whitelist.",
        json_schema_extra=zookeeper_config(),
    )
    storage: Storage = Field(default=Storage(), description="The volume of each server.")
    resources: Resources = Field(
        default=Resources.of(cpu="50m", memory="160Mi", limit="320Mi"),
        description="Resources of each ZooKeeper container. Half of the memory limit is the JVM's "
        "heap.",
    )


class Separation(StrEnum):
    """Whether brokers may share a node with ZooKeeper servers or KRaft controllers."""

    REQUIRED = "Required"
    PREFERRED = "Preferred"
    IGNORED = "Ignored"


class Placement(ApiModel):
    """Where members may run."""

    separate_zookeeper: Separation = Field(
        default=Separation.REQUIRED,
        alias="separateZooKeeper",
        description="Whether ZooKeeper servers run on other nodes than brokers. Two brokers never "
        "share a node, nor do two ZooKeeper servers.",
    )
    separate_controllers: Separation = Field(
        default=Separation.REQUIRED,
        description="Whether KRaft controllers run on other nodes than brokers. Two controllers "
        "never share a node.",
    )


class Topic(ApiModel):
    """A topic under test: created before the traffic, or adopted."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!self.adopt || size(self.config) == 0",
            message="adopt leaves the settings of the topic to its owner; leave out config",
        ),
    )

    name: TopicName = Field(description="Name of the topic.")
    adopt: bool = Field(
        default=False,
        description="Use an existing topic of the cluster of kafkaRef, whatever its name. "
        "Nothing on it is changed and it is not deleted. Records that it has before the test are "
        "not read; nobody else may write to it during the test.",
    )
    partitions: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Number of partitions; of a topic that is adopted, as many as it has.",
    )
    replication_factor: int = Field(
        ge=1,
        le=MAX_BROKERS,
        description="Replicas of each partition, on different racks; of a topic that is adopted, "
        "as many as it has.",
    )
    config: Settings = Field(
        default={},
        description="Topic settings, in place of the brokers'. Compaction and retention are "
        "refused.",
        json_schema_extra=topic_config(),
    )
