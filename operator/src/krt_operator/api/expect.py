"""What a test claims Kafka will do, as expectations that the evidence can be held against.

They say nothing of the verdict on the data: a run that must lose records and does is as expected,
and still Degraded.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from krt_contract.faults import AdminAnswer, AdminRequest
from krt_operator.api.base import (
    MAX_ITEMS,
    ApiModel,
    LongName,
    Rule,
    TopicName,
    list_map,
)
from krt_operator.api.durations import Duration

MAX_COUNT = 1_000_000_000
"""Largest count a bound can name: more records than a run can write."""

GroupName = Annotated[
    str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-zA-Z0-9._-]+$")
]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class Occurrence(StrEnum):
    """How often something may be found."""

    NONE = "None"
    ALLOWED = "Allowed"
    REQUIRED = "Required"


class Ending(StrEnum):
    """Up to when what a fault did is looked at."""

    REVERTED = "Reverted"
    RECOVERED = "Recovered"


class Direction(StrEnum):
    """Which operations a gap is about."""

    WRITES = "Writes"
    READS = "Reads"


class ReplicaCatchUp(StrEnum):
    """From where a returned broker fetched what it had missed."""

    FULL = "Full"
    INCREMENTAL = "Incremental"


class Shutdown(StrEnum):
    """How the process of a deleted pod ended."""

    GRACEFUL = "Graceful"
    KILLED = "Killed"


class NodeSpread(StrEnum):
    """How members were spread over nodes."""

    PER_ROLE = "PerRole"
    ALL_MEMBERS = "AllMembers"


class Term(StrEnum):
    """A term of the ledger."""

    ACKED = "acked"
    FAILED = "failed"
    UNKNOWN = "unknown"
    LOST = "lost"
    UNDELIVERED = "undelivered"
    DELIVERED_LATE = "deliveredLate"
    UNKNOWN_IN_LOG = "unknownInLog"
    UNKNOWN_NOT_IN_LOG = "unknownNotInLog"
    BLIND_SENDS = "unrecordedSends"


class Bounds(ApiModel):
    """A number that must lie between two others, both included."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="has(self.min) || has(self.max)",
            message="min or max must be given: without either anything would be as expected",
        ),
        Rule(
            rule="!has(self.min) || !has(self.max) || self.min <= self.max",
            message="min is above max",
        ),
    )

    min: Count | None = Field(default=None, description="At least so many; unset: no lower bound.")
    max: Count | None = Field(default=None, description="At most so many; unset: no upper bound.")


class Span(ApiModel):
    """A duration that must lie between two others, both included."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="has(self.min) || has(self.max)",
            message="min or max must be given: without either anything would be as expected",
        ),
        Rule(
            rule="!has(self.min) || !has(self.max) || duration(self.min) <= duration(self.max)",
            message="min is above max",
        ),
    )

    min: Duration | None = Field(default=None, description="At least so long; unset: any.")
    max: Duration | None = Field(default=None, description="At most so long; unset: any.")


class TermBounds(Bounds):
    """How many records ended so."""

    term: Term = Field(description="The term of the ledger, as in status.ledger.")


class ErrorBounds(Bounds):
    """How many sends ended with an error."""

    error: Annotated[
        str, StringConstraints(min_length=1, max_length=100, pattern=r"^[A-Z_][A-Z0-9_]*$")
    ] = Field(
        description="The client's name of the error, such as NOT_ENOUGH_REPLICAS or _MSG_TIMED_OUT."
    )


class GroupBounds(Bounds):
    """A number of one consumer group."""

    group: GroupName = Field(description="A group of spec.traffic.consumers.")


class BrokerBounds(Bounds):
    """A number of one broker."""

    broker: int = Field(ge=0, le=8, description="A broker, by its ordinal.")


class TopicBounds(Bounds):
    """A number of one topic."""

    topic: TopicName = Field(description="One of spec.topics.")


class GapBounds(Bounds):
    """How many partitions were without service for long."""

    cel: ClassVar[tuple[Rule, ...]] = (
        *Bounds.cel,
        Rule(
            rule="!has(self.group) || self.of == 'Reads'",
            message="group is for of: Reads alone",
        ),
    )

    of: Direction = Field(description="Writes or Reads.")
    longer_than: Duration = Field(
        description="Shortest gap that counts; the gaps of the fault's time are looked at."
    )
    topic: TopicName | None = Field(default=None, description="Topic looked at; unset: all.")
    group: GroupName | None = Field(
        default=None, description="Group whose reads are looked at; unset: all."
    )


class AdminRequestExpectation(ApiModel):
    """What a question of the fault is to get."""

    request: AdminRequest = Field(description="One of the fault's admin requests.")
    answer: AdminAnswer = Field(
        description="Answered, TimedOut (nobody said anything within 15 s) or Refused (an error)."
    )


class FaultExpectation(ApiModel):
    """What one fault is to bring about, from its injection until it is reverted or recovered."""

    name: LongName = Field(description="The fault, one of spec.faults.")
    until: Ending = Field(
        default=Ending.RECOVERED,
        description="Up to when its effect is looked at: Reverted (let back) or Recovered.",
    )
    offline_partitions: Bounds | None = Field(
        default=None,
        description="Partitions of spec.topics that had no leader for a second or longer. Not "
        "counted where the next leader was in the ISR and registered all that time: then only the "
        "controller was slow to elect it.",
    )
    leader_changes: Bounds | None = Field(
        default=None, description="Times that a partition of spec.topics got another leader."
    )
    unrelated_leader_changes: Bounds | None = Field(
        default=None,
        description="The same, of leaders that no fault had hit at that time.",
    )
    isr_shrinks: Bounds | None = Field(
        default=None, description="Partitions of spec.topics whose ISR lost a member."
    )
    isr_shrink_after: Span | None = Field(
        default=None, description="Time from the injection to the first member lost by an ISR."
    )
    isr_restored_after: Span | None = Field(
        default=None, description="Time from the revert until every ISR was whole again."
    )
    broker_session_expirations: Bounds | None = Field(
        default=None, description="Brokers whose ZooKeeper session ended."
    )
    controller_changes: Bounds | None = Field(
        default=None, description="Times that another broker became controller."
    )
    zookeeper_leader_changes: Bounds | None = Field(
        default=None, description="Times that another server led ZooKeeper."
    )
    quorum_losses: Bounds | None = Field(
        default=None, description="Times that ZooKeeper lost its quorum."
    )
    unavailability: Annotated[tuple[GapBounds, ...], Field(max_length=8)] = Field(
        default=(),
        description="Partitions of spec.topics without completed operations for long.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    admin_requests: Annotated[tuple[AdminRequestExpectation, ...], Field(max_length=3)] = Field(
        default=(),
        description="What the fault's admin requests got.",
        json_schema_extra=list_map("request"),
    )
    blocked_evictions: Bounds | None = Field(
        default=None, description="Evictions that a disruption budget refused."
    )
    replica_catch_up: ReplicaCatchUp | None = Field(
        default=None,
        description="From where the broker hit fetched after its return, by its own log: Full "
        "(every partition from offset 0) or Incremental (none of them).",
    )
    shutdown: Shutdown | None = Field(
        default=None,
        description="How the process of the deleted pod ended: Graceful (by itself) or Killed "
        "(by SIGKILL, after its grace period).",
    )


class Expect(ApiModel):
    """The claims of the test. What is unset is not claimed."""

    loss: Occurrence | None = Field(
        default=None,
        description="Confirmed records that are nowhere. None: not one. Allowed: only what the "
        "settings permit. Required: at least one, and only what the settings permit. The same for "
        "the fields that follow.",
    )
    vanished_reads: Occurrence | None = Field(
        default=None, description="Delivered records that are not in the log any more."
    )
    duplicate_writes: Occurrence | None = Field(
        default=None, description="Records that lie in the log more than once."
    )
    redeliveries: Occurrence | None = Field(
        default=None, description="Deliveries of a record to a group beyond its first."
    )
    undelivered: Occurrence | None = Field(
        default=None, description="Records in the log that a group owed them never got."
    )
    unprocessed: Occurrence | None = Field(
        default=None,
        description="Records handed to a BeforeProcessing group that no member noted as processed.",
    )
    processed_twice: Occurrence | None = Field(
        default=None, description="Records that members of a group noted as processed twice."
    )
    reordering: Occurrence | None = Field(
        default=None, description="Records out of order, in the log or in a delivery."
    )
    aborted_reads: Occurrence | None = Field(
        default=None, description="Records of failed or aborted sends that were seen."
    )
    accepted_below_min_isr: Occurrence | None = Field(
        default=None, description="Sends confirmed while the ISR was below min.insync.replicas."
    )
    double_ownership: Occurrence | None = Field(
        default=None, description="Partitions that two members of a group had at once."
    )
    unclean_elections: Occurrence | None = Field(
        default=None, description="Elections of a leader from outside the ISR."
    )
    records: Annotated[tuple[TermBounds, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Records by fate.", json_schema_extra=list_map("term")
    )
    rejections: Annotated[tuple[ErrorBounds, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Sends that were not confirmed, by the client's error.",
        json_schema_extra=list_map("error"),
    )
    rebalances: Annotated[tuple[GroupBounds, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Rebalances of a group after the first fault was injected.",
        json_schema_extra=list_map("group"),
    )
    unassigned_consumers: Annotated[tuple[GroupBounds, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Members of a group that never had a partition.",
        json_schema_extra=list_map("group"),
    )
    non_empty_partitions: Annotated[tuple[TopicBounds, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Partitions of a topic that hold records at the end.",
        json_schema_extra=list_map("topic"),
    )
    partitions_per_key: Bounds | None = Field(
        default=None, description="Partitions that the records of one key lie on, at most."
    )
    non_preferred_leaders: Bounds | None = Field(
        default=None,
        description="Partitions of spec.topics that another than the preferred replica leads at "
        "the end.",
    )
    in_isr: Annotated[tuple[BrokerBounds, ...], Field(max_length=9)] = Field(
        default=(),
        description="Partitions of spec.topics that have a broker in their ISR at the end.",
        json_schema_extra=list_map("broker"),
    )
    closest_replica_fetches: Annotated[tuple[GroupBounds, ...], Field(max_length=MAX_ITEMS)] = (
        Field(
            default=(),
            description="Partitions that a group read from a broker in the zone that its client.rack "
            "names, at some time.",
            json_schema_extra=list_map("group"),
        )
    )
    node_spread: NodeSpread | None = Field(
        default=None,
        description="Nodes of the members. PerRole: no two brokers and no two ZooKeeper servers "
        "on one node. AllMembers: the same, and no broker beside a ZooKeeper server.",
    )
    error: (
        Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=r"^[A-Z][A-Za-z]*$")]
        | None
    ) = Field(
        default=None,
        description="The test cannot be run here and ends in phase Error with this reason, such as "
        "TooFewNodes.",
    )
    faults: Annotated[tuple[FaultExpectation, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="What each fault brings about.",
        json_schema_extra=list_map("name", "until"),
    )
