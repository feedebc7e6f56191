"""The faults of a test: action, target, start and duration."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from krt_contract.faults import Action, AdminRequest
from krt_operator.api.base import (
    LIST_ATOMIC,
    LIST_SET,
    ApiModel,
    LongName,
    RenamedField,
    Rule,
)
from krt_operator.api.durations import Duration
from krt_operator.api.targets import Target


class StartEvent(StrEnum):
    """The event of another fault that a fault waits for."""

    STARTED = "Started"
    REVERTED = "Reverted"
    RECOVERED = "Recovered"


class StartsAfter(ApiModel):
    """What a fault waits for."""

    fault: LongName | None = Field(
        default=None,
        description="An earlier fault of the list; unset: the previous fault, and for the first "
        "fault the end of the warm-up.",
    )
    event: StartEvent = Field(
        default=StartEvent.RECOVERED,
        description="Event of that fault: Started (injected), Reverted, or Recovered (all "
        "replicas in sync and all groups caught up after the revert).",
    )


class Fault(ApiModel):
    """One fault."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(self.gracePeriodSeconds) || self.action in ['DeletePod', 'EvictPod']",
            message="gracePeriodSeconds is only for DeletePod and EvictPod",
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
            rule="self.action != 'LoseDisk' || self.target.role != 'ControllerNode'",
            message="LoseDisk takes no KRaft controller: one that lost its votes may vote again",
            expression="'fault ' + self.name + ': LoseDisk takes no KRaft controller, because one "
            "that has lost its votes may vote again; use CrashPod'",
        ),
        Rule(
            rule="self.action != 'RollingRestart' || "
            "self.target.role in ['Broker', 'ZooKeeper', 'ControllerNode', 'Rack']",
            message="RollingRestart takes target.role Broker, ZooKeeper, ControllerNode or Rack",
            expression="'fault ' + self.name + ': RollingRestart takes target.role Broker, "
            "ZooKeeper, ControllerNode or Rack, not ' + self.target.role",
        ),
        Rule(
            rule="!(self.action in ['RollingRestart', 'Reassign', 'ElectPreferredLeaders']) || "
            "duration(self.duration) == duration('0s')",
            message="the action takes no duration, because it keeps no target down",
            expression="'fault ' + self.name + ': ' + self.action + ' takes no duration, "
            "because it keeps no target down'",
        ),
        Rule(
            rule="(self.action in ['Reassign', 'ElectPreferredLeaders', 'External']) == "
            "(self.target.role == 'Partition')",
            message="target.role Partition is for Reassign, ElectPreferredLeaders and External, "
            "which take no other role",
            expression="'fault ' + self.name + ': target.role Partition is for Reassign, "
            "ElectPreferredLeaders and External, which take no other role; this is ' + "
            "self.action + ' of ' + self.target.role",
        ),
        Rule(
            rule="(self.action == 'Reassign') == (size(self.targetReplicas) > 0)",
            message="Reassign needs targetReplicas, and no other action takes it",
            expression="'fault ' + self.name + ': Reassign needs targetReplicas, and no other "
            "action takes it'",
        ),
        Rule(
            rule="self.action != 'FreezePod' || duration(self.duration) > duration('0s')",
            message="FreezePod needs a duration above 0s",
            expression="'fault ' + self.name + ': FreezePod needs a duration above 0s'",
        ),
        Rule(
            rule="self.action != 'External' || duration(self.duration) > duration('0s')",
            message="External needs a duration above 0s: the time for the fault that you inject",
            expression="'fault ' + self.name + ': External needs a duration above 0s, the time in "
            "which somebody injects the fault'",
        ),
        Rule(
            rule="duration(self.duration) <= duration('30m') && "
            "duration(self.delay) <= duration('30m')",
            message="delay and duration must be at most 30m",
            expression="'fault ' + self.name + ': delay and duration must be at most 30m'",
        ),
    )

    renamed: ClassVar[Mapping[str, RenamedField]] = {
        "downFor": RenamedField("duration", {"type": "string", "maxLength": 25}),
        "to": RenamedField(
            "targetReplicas",
            {
                "type": "array",
                "maxItems": 9,
                "items": {"type": "integer", "minimum": 0, "maximum": 15},
                **LIST_ATOMIC,
            },
        ),
        "probes": RenamedField(
            "adminRequests",
            {
                "type": "array",
                "maxItems": 3,
                "items": {"type": "string", "maxLength": 63},
                **LIST_ATOMIC,
            },
        ),
    }

    name: LongName = Field(description="Name of the fault.")
    starts_after: StartsAfter = Field(
        default=StartsAfter(), description="Event that the fault waits for."
    )
    delay: Duration = Field(
        default=Duration(0), description="Wait between that event and the injection."
    )
    action: Action = Field(
        description="DeletePod: the pod is deleted through the API, and Kafka gets SIGTERM first. "
        "CrashPod: the process is killed with SIGKILL. "
        "FreezePod: the process is stopped with SIGSTOP for duration, then continued. "
        "EvictPod: the pod is evicted through the API, which its disruption budget may refuse. "
        "LoseDisk: the process is killed, pod and volume are deleted, and the member restarts "
        "with an empty volume. "
        "RollingRestart: each target in turn (all of the role unless named) is deleted gracefully, "
        "the next one when all replicas are in sync again. "
        "Reassign: the partitions are moved to the brokers of targetReplicas, by Kafka's own tool. "
        "ElectPreferredLeaders: the first replica of each partition is elected its leader. "
        "External: you, or another tool, inject a fault within duration; an event reports "
        "when the time begins. It is verified when a replica of the target's partitions leaves the "
        "ISR."
    )
    target: Target = Field(description="Targets of the fault.")
    grace_period_seconds: int | None = Field(
        default=None,
        ge=0,
        le=3600,
        description="Grace period of DeletePod and EvictPod; unset: the pod's own. 0 still sends "
        "SIGTERM.",
    )
    target_replicas: Annotated[
        tuple[Annotated[int, Field(ge=0, le=15)], ...], Field(max_length=9)
    ] = Field(
        default=(),
        description="Brokers that Reassign moves each partition to, preferred leader first; as "
        "many as the topic's replicationFactor.",
        json_schema_extra=LIST_SET,
    )
    duration: Duration = Field(
        default=Duration(0),
        description="How long the target is kept down, or frozen; 0s: it restarts at once. Of "
        "External: how long the fault may last.",
    )
    admin_requests: Annotated[tuple[AdminRequest, ...], Field(max_length=3)] = Field(
        default=(),
        description="Requests sent to the cluster 3 s after the injection; the answers are in the "
        "timeline. CreateTopic (creates krt-admin-request-<fault>), DescribeConfigs, ListTopics.",
        json_schema_extra=LIST_SET,
    )
