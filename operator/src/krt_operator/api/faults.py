"""The faults of a test: what is broken, when, for how long."""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from krt_operator.api.base import (
    LIST_SET,
    ApiModel,
    LabelValue,
    LongName,
    Rule,
    ShortName,
    TopicName,
)
from krt_operator.api.durations import Duration


class Action(StrEnum):
    """What is done to the target."""

    DELETE_POD = "DeletePod"
    CRASH_POD = "CrashPod"
    FREEZE_POD = "FreezePod"
    EVICT_POD = "EvictPod"
    LOSE_DISK = "LoseDisk"
    ROLLING_RESTART = "RollingRestart"
    REASSIGN = "Reassign"
    ELECT_PREFERRED_LEADERS = "ElectPreferredLeaders"


class Role(StrEnum):
    """Which members of the cluster, or pods of the traffic, are meant."""

    PARTITION_LEADER = "PartitionLeader"
    PARTITION_FOLLOWER = "PartitionFollower"
    PARTITION_REPLICA = "PartitionReplica"
    PARTITION = "Partition"
    CONTROLLER = "Controller"
    GROUP_COORDINATOR = "GroupCoordinator"
    BROKER = "Broker"
    ZOOKEEPER = "ZooKeeper"
    ZOOKEEPER_LEADER = "ZooKeeperLeader"
    RACK = "Rack"
    PRODUCER = "Producer"
    CONSUMER = "Consumer"


class StartEvent(StrEnum):
    """What of another fault is waited for."""

    STARTED = "Started"
    HEALED = "Healed"
    RECOVERED = "Recovered"


class StartsAfter(ApiModel):
    """What a fault waits for."""

    fault: LongName | None = Field(
        default=None,
        description="An earlier fault of the list; unset: the one before, and for the first fault "
        "the end of the warm-up.",
    )
    event: StartEvent = Field(
        default=StartEvent.RECOVERED,
        description="What of it is waited for: Started (injected), Healed (let back) or "
        "Recovered (cluster whole again).",
    )


_PARTITION = (Role.PARTITION_LEADER, Role.PARTITION_FOLLOWER, Role.PARTITION_REPLICA)
_OF_TOPIC = (*_PARTITION, Role.PARTITION, Role.RACK)
_TRAFFIC = (Role.PRODUCER, Role.CONSUMER)
_NUMBERED = (Role.BROKER, Role.ZOOKEEPER, *_TRAFFIC)
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
    """Whom a fault hits; resolved when it is due, chosen by the seed where several fit."""

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
        Rule(
            rule="size(self.ordinals) == 0 || !has(self.count)",
            message="target.ordinals and target.count exclude each other",
        ),
    )

    role: Role = Field(description="Which members or pods are meant.")
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
            description="The partitions, for Partition; none: all of the topic.",
            json_schema_extra=LIST_SET,
        )
    )
    ordinals: Annotated[tuple[Annotated[int, Field(ge=0, le=15)], ...], Field(max_length=9)] = (
        Field(
            default=(),
            description="Ordinals of brokers, ZooKeeper servers or pods of a producer or consumer.",
            json_schema_extra=LIST_SET,
        )
    )
    zone: LabelValue | None = Field(
        default=None, description="Zone whose brokers are meant, for Rack; else by a leader."
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
    count: int | None = Field(
        default=None,
        ge=1,
        le=9,
        description="How many of those that fit; unset: the ordinals given, else one (all for "
        "RollingRestart).",
    )


class Fault(ApiModel):
    """One fault."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(self.gracePeriodSeconds) || self.action in ['DeletePod', 'EvictPod']",
            message="gracePeriodSeconds is for DeletePod and EvictPod alone",
            expression="'fault ' + self.name + ': gracePeriodSeconds is for DeletePod and "
            "EvictPod, not ' + self.action",
        ),
        Rule(
            rule="self.action != 'EvictPod' || !(self.target.role in ['Producer', 'Consumer'])",
            message="EvictPod is for members: traffic has no disruption budget",
            expression="'fault ' + self.name + ': EvictPod takes no target.role ' + "
            "self.target.role + ', which has no disruption budget'",
        ),
        Rule(
            rule="self.action != 'LoseDisk' || !(self.target.role in ['Producer', 'Consumer'])",
            message="LoseDisk is for members: traffic has no volume of its own",
            expression="'fault ' + self.name + ': LoseDisk takes no target.role ' + "
            "self.target.role + ', which has no volume of its own'",
        ),
        Rule(
            rule="self.action != 'RollingRestart' || "
            "self.target.role in ['Broker', 'ZooKeeper', 'Rack']",
            message="RollingRestart takes target.role Broker, ZooKeeper or Rack",
            expression="'fault ' + self.name + ': RollingRestart takes target.role Broker, "
            "ZooKeeper or Rack, not ' + self.target.role",
        ),
        Rule(
            rule="!(self.action in ['RollingRestart', 'Reassign', 'ElectPreferredLeaders']) || "
            "duration(self.downFor) == duration('0s')",
            message="the action takes no downFor: it holds nobody down",
            expression="'fault ' + self.name + ': ' + self.action + ' takes no downFor, it holds "
            "nobody down'",
        ),
        Rule(
            rule="(self.action in ['Reassign', 'ElectPreferredLeaders']) == "
            "(self.target.role == 'Partition')",
            message="target.role Partition is for Reassign and ElectPreferredLeaders, and they for "
            "it",
            expression="'fault ' + self.name + ': target.role Partition is for Reassign and "
            "ElectPreferredLeaders, and they take no other; this is ' + self.action + ' of ' + "
            "self.target.role",
        ),
        Rule(
            rule="(self.action == 'Reassign') == (size(self.to) > 0)",
            message="Reassign needs to, the brokers, and no other action takes it",
            expression="'fault ' + self.name + ': Reassign needs to, the brokers, and no other "
            "action takes it'",
        ),
        Rule(
            rule="self.action != 'FreezePod' || duration(self.downFor) > duration('0s')",
            message="FreezePod needs downFor: how long the process is frozen",
            expression="'fault ' + self.name + ': FreezePod needs downFor, how long the process is "
            "frozen'",
        ),
        Rule(
            rule="duration(self.downFor) <= duration('30m') && "
            "duration(self.delay) <= duration('30m')",
            message="delay and downFor are at most 30m",
            expression="'fault ' + self.name + ': delay and downFor are at most 30m'",
        ),
    )

    name: LongName = Field(description="Name of the fault.")
    starts_after: StartsAfter = Field(
        default=StartsAfter(), description="What the fault waits for."
    )
    delay: Duration = Field(
        default=Duration(0), description="Wait between that event and the injection."
    )
    action: Action = Field(
        description="DeletePod: the pod is deleted through the API, and Kafka gets SIGTERM first. "
        "CrashPod: the process is killed with SIGKILL. "
        "FreezePod: the process is stopped with SIGSTOP for downFor, then continued. "
        "EvictPod: the pod is evicted through the API, which its disruption budget may refuse. "
        "LoseDisk: the process is killed, pod and volume are deleted, and the member comes back "
        "with an empty volume. "
        "RollingRestart: each target in turn (all of the role unless named) is deleted gracefully, "
        "the next when all ISRs are whole again. "
        "Reassign: the partitions are moved to the brokers of to, by Kafka's own tool. "
        "ElectPreferredLeaders: the first replica of each partition is elected its leader."
    )
    target: Target = Field(description="Whom the fault hits.")
    grace_period_seconds: int | None = Field(
        default=None,
        ge=0,
        le=3600,
        description="Grace period of DeletePod and EvictPod; unset: the pod's own. 0 still sends "
        "SIGTERM.",
    )
    to: Annotated[tuple[Annotated[int, Field(ge=0, le=15)], ...], Field(max_length=9)] = Field(
        default=(),
        description="Brokers that Reassign gives each partition, preferred leader first; as many "
        "as the topic's replicationFactor.",
        json_schema_extra=LIST_SET,
    )
    down_for: Duration = Field(
        default=Duration(0),
        description="How long the target is held down, or frozen; 0s: back at once.",
    )
