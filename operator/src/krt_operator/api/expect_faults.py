"""What a test expects one fault to cause."""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from krt_contract.faults import AdminAnswer, AdminRequest
from krt_operator.api.base import ApiModel, LongName, Rule, TopicName, list_map
from krt_operator.api.bounds import Bounds, GroupName, Span
from krt_operator.api.durations import Duration


class Ending(StrEnum):
    """The end of the time in which the effects of a fault are counted."""

    REVERTED = "Reverted"
    RECOVERED = "Recovered"


class Direction(StrEnum):
    """The operations of a gap."""

    WRITES = "Writes"
    READS = "Reads"


class ReplicaCatchUp(StrEnum):
    """The offset from which a restarted broker fetched the records it had missed."""

    FULL = "Full"
    INCREMENTAL = "Incremental"


class Shutdown(StrEnum):
    """How the process of a deleted pod ended."""

    GRACEFUL = "Graceful"
    KILLED = "Killed"


class GapBounds(Bounds):
    """How many partitions had long gaps without operations."""

    cel: ClassVar[tuple[Rule, ...]] = (
        *Bounds.cel,
        Rule(
            rule="!has(self.group) || self.of == 'Reads'",
            message="group is only for of: Reads",
        ),
    )

    of: Direction = Field(description="Writes or Reads.")
    longer_than: Duration = Field(
        description="Shortest gap that counts, among those while the fault's effects are counted."
    )
    topic: TopicName | None = Field(default=None, description="Topic of the gaps; unset: all.")
    group: GroupName | None = Field(
        default=None, description="Group whose reads are counted; unset: all."
    )


class AdminRequestExpectation(ApiModel):
    """The expected answer to an admin request of the fault."""

    request: AdminRequest = Field(description="One of the fault's admin requests.")
    answer: AdminAnswer = Field(
        description="Answered, TimedOut (no answer within 15 s) or Refused (an error)."
    )


class FaultExpectation(ApiModel):
    """The expected effects of one fault, from its injection until it is reverted or recovered."""

    name: LongName = Field(description="The fault, one of spec.faults.")
    until: Ending = Field(
        default=Ending.RECOVERED,
        description="End of the time in which its effects are counted: Reverted or Recovered.",
    )
    offline_partitions: Bounds | None = Field(
        default=None,
        description="Partitions of spec.topics that had no leader for a second or longer. A "
        "partition is not counted if its next leader was in the ISR and registered all that time: "
        "the controller was then only slow to elect it.",
    )
    leader_changes: Bounds | None = Field(
        default=None, description="Number of leader changes of partitions of spec.topics."
    )
    unrelated_leader_changes: Bounds | None = Field(
        default=None,
        description="The same, for leaders that were not a target of a fault at that time.",
    )
    isr_shrinks: Bounds | None = Field(
        default=None, description="Partitions of spec.topics whose ISR shrank."
    )
    isr_shrink_after: Span | None = Field(
        default=None, description="Time from the injection until the first ISR shrank."
    )
    isr_restored_after: Span | None = Field(
        default=None, description="Time from the revert until all replicas were in sync."
    )
    broker_session_expirations: Bounds | None = Field(
        default=None, description="Brokers whose ZooKeeper session expired."
    )
    brokers_fenced: Bounds | None = Field(
        default=None,
        description="Brokers that the KRaft controller fenced; one that is stopped gracefully is "
        "fenced, too.",
    )
    controller_changes: Bounds | None = Field(
        default=None, description="Number of controller changes."
    )
    zookeeper_leader_changes: Bounds | None = Field(
        default=None, description="Number of changes of the ZooKeeper leader."
    )
    quorum_losses: Bounds | None = Field(
        default=None,
        description="How often ZooKeeper, or the KRaft controllers, lost their quorum.",
    )
    unavailability: Annotated[tuple[GapBounds, ...], Field(max_length=8)] = Field(
        default=(),
        description="Partitions of spec.topics with long gaps between completed operations.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    admin_requests: Annotated[tuple[AdminRequestExpectation, ...], Field(max_length=3)] = Field(
        default=(),
        description="Answers to the fault's admin requests.",
        json_schema_extra=list_map("request"),
    )
    blocked_evictions: Bounds | None = Field(
        default=None, description="Evictions that a disruption budget refused."
    )
    replica_catch_up: ReplicaCatchUp | None = Field(
        default=None,
        description="Offset from which the target fetched after its restart, by its own log: Full "
        "(every partition from offset 0) or Incremental (no partition from offset 0).",
    )
    shutdown: Shutdown | None = Field(
        default=None,
        description="How the process of the deleted pod ended: Graceful (by itself) or Killed "
        "(by SIGKILL, after its grace period).",
    )
