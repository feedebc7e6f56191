"""Whom a fault hits."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from krt_operator.api.base import (
    LIST_SET,
    ApiModel,
    LabelValue,
    RenamedField,
    Rule,
    ShortName,
    TopicName,
)


class Role(StrEnum):
    """The role by which members of the cluster, or traffic pods, are selected."""

    PARTITION_LEADER = "PartitionLeader"
    PARTITION_FOLLOWER = "PartitionFollower"
    PARTITION_REPLICA = "PartitionReplica"
    PARTITION = "Partition"
    CONTROLLER = "Controller"
    GROUP_COORDINATOR = "GroupCoordinator"
    BROKER = "Broker"
    ZOOKEEPER = "ZooKeeper"
    ZOOKEEPER_LEADER = "ZooKeeperLeader"
    CONTROLLER_NODE = "ControllerNode"
    RACK = "Rack"
    PRODUCER = "Producer"
    CONSUMER = "Consumer"


MAX_BROKER_ID = 2_147_483_647
"""The highest id of a broker; those of a cluster that the test deploys count from 0."""

_PARTITION = (Role.PARTITION_LEADER, Role.PARTITION_FOLLOWER, Role.PARTITION_REPLICA)
BROKER_ROLES = frozenset({*_PARTITION, Role.BROKER, Role.GROUP_COORDINATOR, Role.CONTROLLER})
"""Roles that a broker of somebody else's cluster may have as the target of a fault."""
_OF_TOPIC = (*_PARTITION, Role.PARTITION, Role.RACK)
_TRAFFIC = (Role.PRODUCER, Role.CONSUMER)
_NUMBERED = (Role.BROKER, Role.ZOOKEEPER, Role.CONTROLLER_NODE, *_TRAFFIC)
_SEVERAL = (Role.PARTITION_FOLLOWER, Role.PARTITION_REPLICA, *_NUMBERED)


def _among(roles: tuple[Role, ...]) -> str:
    return "self.role in [" + ", ".join(f"'{role}'" for role in roles) + "]"


def _needs(roles: tuple[Role, ...], has: str, what: str) -> Rule:
    return Rule(
        rule=f"!({_among(roles)}) || ({has})",
        message=f"the role needs target.{what}",
        expression=f"'role ' + self.role + ' needs target.{what}'",
    )


def _only(roles: tuple[Role, ...], lacks: str, what: str) -> Rule:
    return Rule(
        rule=f"{_among(roles)} || ({lacks})",
        message=f"the role takes no target.{what}",
        expression=f"'role ' + self.role + ' takes no target.{what}'",
    )


class Target(ApiModel):
    """The targets of a fault: resolved when it is due, chosen by the seed where several fit."""

    cel: ClassVar[tuple[Rule, ...]] = (
        _needs(_PARTITION, "has(self.topic) && has(self.partition)", "topic and partition"),
        _only(_OF_TOPIC, "!has(self.topic)", "topic"),
        _only((*_PARTITION, Role.RACK), "!has(self.partition)", "partition"),
        _needs((Role.PARTITION,), "has(self.topic)", "topic"),
        _only((Role.PARTITION,), "size(self.partitions) == 0", "partitions"),
        _needs(
            (Role.RACK,),
            "has(self.topic) == has(self.partition) && has(self.zone) != has(self.topic)",
            "zone, or the topic and partition whose leader is in it,",
        ),
        _only((Role.RACK,), "!has(self.zone)", "zone"),
        _needs((Role.GROUP_COORDINATOR,), "has(self.group)", "group"),
        _only((Role.GROUP_COORDINATOR,), "!has(self.group)", "group"),
        _only(_TRAFFIC, "!has(self.name)", "name"),
        _only(_NUMBERED, "size(self.ordinals) == 0", "ordinals"),
        _only(_SEVERAL, "!has(self.count)", "count"),
        Rule(
            rule="!(self.role in ['Producer', 'Consumer']) || size(self.ordinals) == 0 || "
            "has(self.name)",
            message="target.ordinals of Producer and Consumer need target.name",
        ),
        _only(
            (Role.PARTITION_FOLLOWER, Role.PARTITION_REPLICA),
            "!self.excludeController",
            "excludeController",
        ),
        Rule(
            rule="size(self.ordinals) == 0 || !has(self.count)",
            message="set target.ordinals or target.count, not both",
        ),
    )

    renamed: ClassVar[Mapping[str, RenamedField]] = {
        "spareController": RenamedField("excludeController", {"type": "boolean"})
    }

    role: Role = Field(
        description="Role of the targets. Controller: the broker that is the active controller; in "
        "KRaft mode, the controller that leads the quorum. ControllerNode: KRaft controllers."
    )
    topic: TopicName | None = Field(
        default=None,
        description="Topic of the partition, for PartitionLeader, -Follower, -Replica, Partition, "
        "and Rack by a leader.",
    )
    partition: int | None = Field(
        default=None,
        ge=0,
        le=63,
        description="The partition, for PartitionLeader, -Follower, -Replica and Rack.",
    )
    partitions: Annotated[tuple[Annotated[int, Field(ge=0, le=63)], ...], Field(max_length=64)] = (
        Field(
            default=(),
            description="The partitions, for Partition; empty: all partitions of the topic.",
            json_schema_extra=LIST_SET,
        )
    )
    ordinals: Annotated[
        tuple[Annotated[int, Field(ge=0, le=MAX_BROKER_ID)], ...], Field(max_length=9)
    ] = Field(
        default=(),
        description="Ordinals of brokers, ZooKeeper servers, KRaft controllers, or pods of a "
        "producer or consumer. Of the brokers of spec.kafkaRef, their broker ids.",
        json_schema_extra=LIST_SET,
    )
    zone: LabelValue | None = Field(
        default=None,
        description="Zone whose brokers are the targets, for Rack; unset: the zone of a leader.",
    )
    group: (
        Annotated[
            str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-zA-Z0-9._-]+$")
        ]
        | None
    ) = Field(default=None, description="Consumer group, for GroupCoordinator.")
    name: ShortName | None = Field(
        default=None, description="Entry of spec.traffic, for Producer and Consumer."
    )
    exclude_controller: bool = Field(
        default=False,
        description="Never target the active controller, for PartitionFollower and "
        "PartitionReplica in ZooKeeper mode. The controller changes the ISRs, so a fault on it has "
        "a second effect.",
    )
    count: int | None = Field(
        default=None,
        ge=1,
        le=9,
        description="Number of targets; unset: the ordinals, else one (all for RollingRestart).",
    )
