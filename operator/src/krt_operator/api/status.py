"""The status of a test: the journal of the run and its result."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, StringConstraints, computed_field
from pydantic.alias_generators import to_camel

from krt_operator.api.base import (
    LIST_ATOMIC,
    ApiModel,
    Text,
    list_map,
)
from krt_operator.api.conditions import Condition, ConditionStatus, ConditionType
from krt_operator.api.times import Time

__all__ = [
    "Condition",
    "ConditionStatus",
    "ConditionType",
    "ExpectationResults",
    "FaultState",
    "FaultStatus",
    "InconclusiveReason",
    "InconclusiveReasonKind",
    "Observation",
    "ObservationKind",
    "Phase",
    "PhaseRecord",
    "Report",
    "Status",
    "TargetPod",
    "Verdict",
]

Word = Annotated[str, StringConstraints(max_length=253)]
MAX_INCONCLUSIVE_REASONS = 64
"""Inconclusive reasons kept; each code and subject is reported once, so a run has few."""


class StatusModel(ApiModel):
    """Base of what the controller writes: unknown fields of a newer controller are ignored."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, validate_by_name=True
    )


class Phase(StrEnum):
    """The phase of a run; a run only goes forward."""

    PENDING = "Pending"
    PROVISIONING = "Provisioning"
    WARMUP = "Warmup"
    INJECTING = "Injecting"
    DRAINING = "Draining"
    DUMPING_REPLICAS = "DumpingReplicas"
    SCORING = "Scoring"
    CLEANING_UP = "CleaningUp"
    COMPLETED = "Completed"
    ERROR = "Error"
    ABORTED = "Aborted"

    @property
    def terminal(self) -> bool:
        """Whether nothing follows."""
        return self in (Phase.COMPLETED, Phase.ERROR, Phase.ABORTED)


class Verdict(StrEnum):
    """The result of a run, by its evidence."""

    PENDING = "Pending"
    PASSED = "Passed"
    DEGRADED = "Degraded"
    FAILED = "Failed"
    INCONCLUSIVE = "Inconclusive"


class PhaseRecord(StatusModel):
    """One phase of the run."""

    name: Phase = Field(description="The phase.")
    start_time: Time = Field(description="When the run entered the phase.")
    end_time: Time | None = Field(default=None, description="When the run left the phase.")


class FaultState(StrEnum):
    """The progress of a fault."""

    PENDING = "Pending"
    SCHEDULED = "Scheduled"
    INJECTED = "Injected"
    ACTIVE = "Active"
    REVERTED = "Reverted"
    SKIPPED = "Skipped"

    @property
    def open(self) -> bool:
        """Whether the fault has its targets: from the intent until the revert."""
        return self in (FaultState.SCHEDULED, FaultState.INJECTED, FaultState.ACTIVE)


class TargetPod(StatusModel):
    """A pod that is a target of a fault."""

    pod: Word = Field(description="Name of the pod.")
    uid: Word = Field(description="Uid of the pod, a precondition of the injection.")
    member: Word = Field(description="Member of the pod, such as kafka-0.")
    role: Word = Field(
        default="", description="Role for which the pod was chosen, such as PartitionLeader."
    )
    node: Word = Field(default="", description="Node of the pod.")
    zone: Word = Field(default="", description="Zone of the pod.")
    claim: Word = Field(
        default="", description="Volume claim of the member, where the fault deletes it."
    )
    ip: Word = Field(
        default="", description="IP address of the pod, which identifies a member of a group."
    )
    claim_uid: Word = Field(
        default="", description="Uid of the claim, a precondition of its deletion."
    )


class ObservationKind(StrEnum):
    """The kinds of effects of a fault that can be observed."""

    POD_DELETED = "PodDeleted"
    PROCESS_KILLED = "ProcessKilled"
    SESSION_EXPIRED = "SessionExpired"
    LEADER_MOVED = "LeaderMoved"
    CONTROLLER_MOVED = "ControllerMoved"
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


class Observation(StatusModel):
    """An observation that shows the effect of a fault."""

    kind: ObservationKind = Field(description="What was observed.")
    subject: Word = Field(description="The pod, partition, broker or group.")
    at: Time = Field(description="When it was observed.")
    detail: Text = Field(default="", description="Details.")


class FaultStatus(StatusModel):
    """The journal of one fault: the intent is written before the injection."""

    name: Word = Field(description="Name of the fault.")
    state: FaultState = Field(default=FaultState.PENDING, description="Progress of the fault.")
    targets: Annotated[tuple[TargetPod, ...], Field(max_length=16)] = Field(
        default=(), description="Pods chosen when the fault was due.", json_schema_extra=LIST_ATOMIC
    )
    due_at: Time | None = Field(default=None, description="When the injection was due.")
    scheduled_at: Time | None = Field(default=None, description="When the intent was written.")
    injected_at: Time | None = Field(default=None, description="When the fault was injected.")
    reverted_at: Time | None = Field(default=None, description="When the fault was reverted.")
    recovered_at: Time | None = Field(default=None, description="When the cluster had recovered.")
    attempt: int = Field(
        default=0, ge=0, le=1000, description="Number of attempts at the injection."
    )
    verified: bool | None = Field(
        default=None,
        description="Whether the observations show the effect of the action on every target; "
        "absent until the controller has checked it.",
    )
    observations: Annotated[tuple[Observation, ...], Field(max_length=128)] = Field(
        default=(),
        description="Observations of the fault's effect.",
        json_schema_extra=LIST_ATOMIC,
    )
    message: Text = Field(
        default="", description="Why the fault was skipped, or what it waits for."
    )


class InconclusiveReasonKind(StrEnum):
    """What an inconclusive reason puts in doubt."""

    EVIDENCE = "evidence"
    COVERAGE = "coverage"


class InconclusiveReason(StatusModel):
    """A reason for which the run cannot prove what it should."""

    code: Annotated[str, StringConstraints(max_length=63)] = Field(
        description="CamelCase word, such as OperatorInterrupted."
    )
    kind: InconclusiveReasonKind = Field(
        description="What is in doubt: evidence (anomalies that depend on it do not count) or "
        "coverage (the run tested less than it should)."
    )
    message: Text = Field(description="What happened, and the remedy.")
    at: Time = Field(description="When it was observed.")


class Report(StatusModel):
    """Where the result is stored."""

    config_map: Word = Field(
        default="", description="ConfigMap with the scorecard, without its examples."
    )
    path: Annotated[str, StringConstraints(max_length=1024)] = Field(
        default="", description="The bundle's directory on the evidence volume."
    )


ExpectationName = Annotated[str, StringConstraints(max_length=128)]
MAX_EXPECTATIONS_NAMED = 32
"""Expectations named in the status; all of them are in the scorecard."""


class ExpectationResults(StatusModel):
    """The results of the expectations of spec.expect."""

    met: int = Field(ge=0, description="Number of expectations that are met.")
    not_met: Annotated[tuple[ExpectationName, ...], Field(max_length=MAX_EXPECTATIONS_NAMED)] = (
        Field(
            default=(),
            description="Expectations that are not met.",
            json_schema_extra=LIST_ATOMIC,
        )
    )
    not_evaluated: Annotated[
        tuple[ExpectationName, ...], Field(max_length=MAX_EXPECTATIONS_NAMED)
    ] = Field(
        default=(),
        description="Expectations that could not be evaluated.",
        json_schema_extra=LIST_ATOMIC,
    )


class SelfTest(StatusModel):
    """How many corruptions of the run's own evidence scoring detects."""

    detected: int = Field(ge=0, le=100_000, description="Corruptions that scoring detects.")
    total: int = Field(
        ge=0, le=100_000, description="Corruptions that can be made in the run's evidence."
    )


LedgerCounts = Annotated[
    dict[Annotated[str, StringConstraints(max_length=63)], int], Field(max_length=64)
]


class Status(StatusModel):
    """Journal and result of the run, written by the controller alone."""

    observed_generation: int | None = Field(
        default=None, ge=0, description="Generation that the controller has processed."
    )
    phase: Phase | None = Field(default=None, description="Phase of the run.")
    start_time: Time | None = Field(
        default=None, description="When the controller started the run."
    )
    completion_time: Time | None = Field(
        default=None, description="When the run reached its last phase."
    )
    verdict: Verdict | None = Field(
        default=None, description="Result of the run, by its evidence; independent of the phase."
    )
    score: int | None = Field(
        default=None, ge=0, le=100, description="0 to 100; absent when Inconclusive."
    )
    summary: Text = Field(default="", description="The result in one line.")
    conditions: Annotated[tuple[Condition, ...], Field(max_length=16)] = Field(
        default=(), description="Conditions, by type.", json_schema_extra=list_map("type")
    )
    phases: Annotated[tuple[PhaseRecord, ...], Field(max_length=16)] = Field(
        default=(), description="Phases entered, in order.", json_schema_extra=list_map("name")
    )
    faults: Annotated[tuple[FaultStatus, ...], Field(max_length=16)] = Field(
        default=(), description="Journals of the faults.", json_schema_extra=list_map("name")
    )
    inconclusive_reasons: Annotated[
        tuple[InconclusiveReason, ...], Field(max_length=MAX_INCONCLUSIVE_REASONS)
    ] = Field(
        default=(),
        description="Reasons for which the run is inconclusive.",
        json_schema_extra=LIST_ATOMIC,
    )
    ledger: LedgerCounts = Field(
        default={},
        description="Records by outcome: attempted = acked + failed + unknown; each acked record "
        "is lost, expired, undelivered, deliveredLate or delivered.",
    )
    expectation_results: ExpectationResults | None = Field(
        default=None,
        description="Results of the expectations of spec.expect; absent without expectations.",
    )
    self_test: SelfTest | None = Field(
        default=None,
        description="Result of scoring's self-test; only if spec.scoring.selfTest is true.",
    )
    report: Report | None = Field(default=None, description="Where the result is stored.")
    scoring_attempt: int = Field(default=0, ge=0, le=100, description="Number of the scoring Job.")

    @computed_field(  # type: ignore[prop-decorator]
        description="Open faults, for the printed columns.",
        json_schema_extra={"maxLength": 1024},
    )
    @property
    def active_faults(self) -> str:
        """Names of the open faults, joined by commas."""
        return ",".join(fault.name for fault in self.faults if fault.state.open)

    def replace(self, **changes: Any) -> Self:
        """Return the status with these attributes changed, validated."""
        return self.model_validate({**dict(self), **changes})
