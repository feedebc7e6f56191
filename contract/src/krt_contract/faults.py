"""Fault actions, what may be observed of them, and what each of them must show.

The controller verifies a fault while it is active; the scoring job verifies it again from the
timeline. Both use `IMPLIED`.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    EXTERNAL = "External"
    """Somebody else injects the fault; the run marks and watches the time in which it is open."""


class AdminRequest(StrEnum):
    """What the cluster is asked while a fault acts."""

    CREATE_TOPIC = "CreateTopic"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    LIST_TOPICS = "ListTopics"


class AdminAnswer(StrEnum):
    """How the cluster answered an admin request."""

    ANSWERED = "Answered"
    TIMED_OUT = "TimedOut"
    REFUSED = "Refused"


class ObservationKind(StrEnum):
    """What was seen of a fault's effect."""

    POD_DELETED = "PodDeleted"
    PROCESS_KILLED = "ProcessKilled"
    SESSION_EXPIRED = "SessionExpired"
    """The ZooKeeper session of a broker."""
    BROKER_FENCED = "BrokerFenced"
    """By a KRaft controller."""
    LEADER_MOVED = "LeaderMoved"
    CONTROLLER_MOVED = "ControllerMoved"
    """To another broker; in KRaft mode, to another node of the quorum."""
    COORDINATOR_MOVED = "CoordinatorMoved"
    ISR_SHRANK = "IsrShrank"
    MEMBER_LEFT = "MemberLeft"
    PROCESS_STOPPED = "ProcessStopped"
    EVICTION_REFUSED = "EvictionRefused"
    VOLUME_GONE = "VolumeGone"
    VOLUME_REPLACED = "VolumeReplaced"
    REASSIGNMENT_ACCEPTED = "ReassignmentAccepted"
    REPLICAS_MOVED = "ReplicasMoved"
    PREFERRED_LEADER_ELECTED = "PreferredLeaderElected"


IMPLIED: Final[Mapping[Action, frozenset[ObservationKind]]] = MappingProxyType(
    {
        Action.DELETE_POD: frozenset({ObservationKind.POD_DELETED}),
        Action.CRASH_POD: frozenset({ObservationKind.PROCESS_KILLED}),
        Action.FREEZE_POD: frozenset({ObservationKind.PROCESS_STOPPED}),
        Action.EVICT_POD: frozenset(
            {ObservationKind.POD_DELETED, ObservationKind.EVICTION_REFUSED}
        ),
        Action.LOSE_DISK: frozenset({ObservationKind.VOLUME_REPLACED}),
        Action.ROLLING_RESTART: frozenset({ObservationKind.POD_DELETED}),
        Action.REASSIGN: frozenset({ObservationKind.REPLICAS_MOVED}),
        Action.ELECT_PREFERRED_LEADERS: frozenset({ObservationKind.PREFERRED_LEADER_ELECTED}),
        Action.EXTERNAL: frozenset({ObservationKind.ISR_SHRANK}),
    }
)
"""Action to kinds of observation. A fault is verified when at least one of them was seen of every
target. Targets are pods, or the partitions of an action on partitions."""

VERIFIED_BY_ANY_TARGET: Final[frozenset[Action]] = frozenset({Action.EXTERNAL})
"""Actions of which one target is enough: the resource does not say which partitions they hit."""


def implied_by(action: str) -> frozenset[ObservationKind]:
    """Return what an action of a timeline must show; nothing where the action is unknown."""
    return IMPLIED[Action(action)] if action in set(Action) else frozenset()
