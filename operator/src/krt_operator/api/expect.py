"""What a test expects of Kafka; scoring evaluates it against the evidence.

Expectations do not change the verdict: a run that is expected to lose records and does meets its
expectations, and its verdict is still Degraded.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from krt_operator.api.base import MAX_ITEMS, ApiModel, TopicName, list_map
from krt_operator.api.bounds import Bounds, GroupName
from krt_operator.api.expect_faults import FaultExpectation
from krt_operator.api.targets import MAX_BROKER_ID


class Occurrence(StrEnum):
    """Whether an anomaly is expected."""

    NONE = "None"
    ALLOWED = "Allowed"
    REQUIRED = "Required"


class NodeSpread(StrEnum):
    """How members are spread over nodes."""

    PER_ROLE = "PerRole"
    ALL_MEMBERS = "AllMembers"


class RecordOutcome(StrEnum):
    """An outcome that the ledger counts."""

    ACKED = "acked"
    FAILED = "failed"
    UNKNOWN = "unknown"
    LOST = "lost"
    UNDELIVERED = "undelivered"
    DELIVERED_LATE = "deliveredLate"
    UNKNOWN_IN_LOG = "unknownInLog"
    UNKNOWN_NOT_IN_LOG = "unknownNotInLog"
    UNRECORDED_SENDS = "unrecordedSends"


class OutcomeBounds(Bounds):
    """Bounds of the number of records with one outcome."""

    outcome: RecordOutcome = Field(description="The outcome, as in status.ledger.")


class ErrorBounds(Bounds):
    """Bounds of the number of sends with one error."""

    error: Annotated[
        str, StringConstraints(min_length=1, max_length=100, pattern=r"^[A-Z_][A-Z0-9_]*$")
    ] = Field(
        description="The error's name in the client, such as NOT_ENOUGH_REPLICAS or _MSG_TIMED_OUT."
    )


class GroupBounds(Bounds):
    """Bounds of a number of one consumer group."""

    group: GroupName = Field(description="A group of spec.traffic.consumers.")


class BrokerBounds(Bounds):
    """Bounds of a number of one broker."""

    broker: int = Field(
        ge=0,
        le=MAX_BROKER_ID,
        description="A broker, by its ordinal; one of the cluster of spec.kafkaRef by its broker "
        "id.",
    )


class TopicBounds(Bounds):
    """Bounds of a number of one topic."""

    topic: TopicName = Field(description="One of spec.topics.")


class Expect(ApiModel):
    """The expectations of the test. A field that is unset is not evaluated."""

    loss: Occurrence | None = Field(
        default=None,
        description="Acknowledged records that are in no log. None: no such record. Allowed: only "
        "those that the settings permit. Required: at least one, and only those that the settings "
        "permit. The next fields have the same values.",
    )
    vanished_reads: Occurrence | None = Field(
        default=None, description="Delivered records that are no longer in the log."
    )
    duplicate_writes: Occurrence | None = Field(
        default=None, description="Records that are in the log more than once."
    )
    redeliveries: Occurrence | None = Field(
        default=None, description="Deliveries of a record to a group beyond its first."
    )
    undelivered: Occurrence | None = Field(
        default=None,
        description="Records in the log that were never delivered to a group that reads the topic.",
    )
    unprocessed: Occurrence | None = Field(
        default=None,
        description="Records delivered to a BeforeProcessing group that no member processed.",
    )
    processed_twice: Occurrence | None = Field(
        default=None, description="Records that members of a group processed twice."
    )
    reordering: Occurrence | None = Field(
        default=None, description="Records out of order, in the log or in a delivery."
    )
    aborted_reads: Occurrence | None = Field(
        default=None, description="Delivered records of failed or aborted sends."
    )
    accepted_below_min_isr: Occurrence | None = Field(
        default=None, description="Sends acknowledged while the ISR was below min.insync.replicas."
    )
    double_ownership: Occurrence | None = Field(
        default=None, description="Partitions assigned to two members of a group at the same time."
    )
    unclean_elections: Occurrence | None = Field(
        default=None, description="Elections of a leader from outside the ISR."
    )
    records: Annotated[tuple[OutcomeBounds, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Records by outcome.", json_schema_extra=list_map("outcome")
    )
    rejections: Annotated[tuple[ErrorBounds, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Sends that were not acknowledged, by the client's error.",
        json_schema_extra=list_map("error"),
    )
    rebalances: Annotated[tuple[GroupBounds, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Rebalances of a group after the first fault was injected.",
        json_schema_extra=list_map("group"),
    )
    unassigned_consumers: Annotated[tuple[GroupBounds, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Members of a group without a partition from the first fault on, or from the "
        "end of the warm-up where there is no fault.",
        json_schema_extra=list_map("group"),
    )
    non_empty_partitions: Annotated[tuple[TopicBounds, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Partitions of a topic that have records at the end.",
        json_schema_extra=list_map("topic"),
    )
    partitions_per_key: Bounds | None = Field(
        default=None, description="Greatest number of partitions with records of the same key."
    )
    non_preferred_leaders: Bounds | None = Field(
        default=None,
        description="Partitions of spec.topics whose leader is not the preferred replica at the "
        "end.",
    )
    in_isr: Annotated[tuple[BrokerBounds, ...], Field(max_length=9)] = Field(
        default=(),
        description="Partitions of spec.topics that have a broker in their ISR at the end.",
        json_schema_extra=list_map("broker"),
    )
    closest_replica_fetches: Annotated[tuple[GroupBounds, ...], Field(max_length=MAX_ITEMS)] = (
        Field(
            default=(),
            description="Partitions that a group read from a broker in the zone that its "
            "client.rack names, at some time.",
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
        description="Reason with which the test ends in phase Error, such as TooFewNodes.",
    )
    faults: Annotated[tuple[FaultExpectation, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Expected effects of each fault.",
        json_schema_extra=list_map("name", "until"),
    )
