"""The status of a test: the journal of the run and its result."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, StringConstraints, computed_field
from pydantic.alias_generators import to_camel

from krt_contract.faults import ObservationKind
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
"""Guards kept; each code and subject is said once, so a run has few."""


class StatusModel(ApiModel):
    """Base of what the controller writes: unknown fields of a newer controller are let be."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, validate_by_name=True
    )


class Phase(StrEnum):
    """Where a run is; only ever forward."""

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
    """What the evidence says."""

    PENDING = "Pending"
    PASSED = "Passed"
    DEGRADED = "Degraded"
    FAILED = "Failed"
    INCONCLUSIVE = "Inconclusive"


class PhaseRecord(StatusModel):
    """One phase of the run."""

    name: Phase = Field(description="The phase.")
    start_time: Time = Field(description="When it was entered.")
    end_time: Time | None = Field(default=None, description="When it was left.")


class FaultState(StrEnum):
    """How far a fault is."""

    PENDING = "Pending"
    SCHEDULED = "Scheduled"
    INJECTED = "Injected"
    ACTIVE = "Active"
    REVERTED = "Reverted"
    SKIPPED = "Skipped"

    @property
    def open(self) -> bool:
        """Whether the fault's targets are its own: from the intent until they are let back."""
        return self in (FaultState.SCHEDULED, FaultState.INJECTED, FaultState.ACTIVE)


class TargetPod(StatusModel):
    """A pod that a fault hits."""

    pod: Word = Field(description="Name of the pod.")
    uid: Word = Field(description="Its uid: the precondition of the act.")
    member: Word = Field(description="The member it belongs to, such as kafka-0.")
    role: Word = Field(default="", description="Why it was chosen, such as PartitionLeader.")
    node: Word = Field(default="", description="Node it ran on.")
    zone: Word = Field(default="", description="Zone it ran in.")
    claim: Word = Field(default="", description="Its volume claim, where the fault takes that.")
    ip: Word = Field(default="", description="Its address, by which a group's member is known.")
    claim_uid: Word = Field(default="", description="The claim's uid: the precondition of it.")


class Observation(StatusModel):
    """One thing seen that shows the effect of a fault."""

    kind: ObservationKind = Field(description="What was seen.")
    subject: Word = Field(description="Of what: a pod, partition, broker or group.")
    at: Time = Field(description="When it was seen.")
    detail: Text = Field(default="", description="What exactly.")


class FaultStatus(StatusModel):
    """The journal of one fault: the intent is written before the act."""

    name: Word = Field(description="The fault.")
    state: FaultState = Field(default=FaultState.PENDING, description="How far it is.")
    targets: Annotated[tuple[TargetPod, ...], Field(max_length=16)] = Field(
        default=(), description="Pods chosen when it was due.", json_schema_extra=LIST_ATOMIC
    )
    due_at: Time | None = Field(default=None, description="When it was to be injected.")
    scheduled_at: Time | None = Field(default=None, description="When the intent was written.")
    injected_at: Time | None = Field(default=None, description="When the target fell.")
    reverted_at: Time | None = Field(default=None, description="When the target was let back.")
    recovered_at: Time | None = Field(default=None, description="When the cluster was whole again.")
    attempt: int = Field(default=0, ge=0, le=1000, description="Times the act was tried.")
    verified: bool | None = Field(
        default=None,
        description="Whether the observations show the effect that the action implies, on every "
        "target; absent until the controller looked.",
    )
    observations: Annotated[tuple[Observation, ...], Field(max_length=128)] = Field(
        default=(),
        description="What was observed of the fault's effect.",
        json_schema_extra=LIST_ATOMIC,
    )
    message: Text = Field(default="", description="Why it was skipped, or what it waits for.")


class InconclusiveReasonKind(StrEnum):
    """What a guard casts doubt on."""

    EVIDENCE = "evidence"
    COVERAGE = "coverage"


class InconclusiveReason(StatusModel):
    """Something that keeps the run from proving what it should."""

    code: Annotated[str, StringConstraints(max_length=63)] = Field(
        description="One word, such as OperatorInterrupted."
    )
    kind: InconclusiveReasonKind = Field(
        description="What is in doubt: evidence (anomalies resting on it are void) or "
        "coverage (too little was tried)."
    )
    message: Text = Field(description="What happened and what to do.")
    at: Time = Field(description="When it was seen.")


class Report(StatusModel):
    """Where the result lies."""

    config_map: Word = Field(
        default="", description="ConfigMap with the scorecard, without examples."
    )
    path: Annotated[str, StringConstraints(max_length=1024)] = Field(
        default="", description="The bundle's directory on the evidence volume."
    )


ExpectationName = Annotated[str, StringConstraints(max_length=128)]
MAX_EXPECTATIONS_NAMED = 32
"""ExpectationResults named in the status; all of them are in the scorecard."""


class ExpectationResults(StatusModel):
    """How the claims of spec.expect fared."""

    met: int = Field(ge=0, description="ExpectationResults that held.")
    not_met: Annotated[tuple[ExpectationName, ...], Field(max_length=MAX_EXPECTATIONS_NAMED)] = (
        Field(
            default=(),
            description="ExpectationResults that did not hold.",
            json_schema_extra=LIST_ATOMIC,
        )
    )
    not_evaluated: Annotated[
        tuple[ExpectationName, ...], Field(max_length=MAX_EXPECTATIONS_NAMED)
    ] = Field(
        default=(),
        description="ExpectationResults about which the evidence says nothing.",
        json_schema_extra=LIST_ATOMIC,
    )


class SelfTest(StatusModel):
    """How well the detector did on corrupted copies of the run's own evidence."""

    detected: int = Field(ge=0, le=100_000, description="Corruptions found exactly.")
    total: int = Field(ge=0, le=100_000, description="Corruptions the run could host.")


LedgerCounts = Annotated[
    dict[Annotated[str, StringConstraints(max_length=63)], int], Field(max_length=64)
]


class Status(StatusModel):
    """Journal and result of the run, written by the controller alone."""

    observed_generation: int | None = Field(
        default=None, ge=0, description="Generation last acted upon."
    )
    phase: Phase | None = Field(default=None, description="Where the run is.")
    start_time: Time | None = Field(default=None, description="When the run was taken up.")
    completion_time: Time | None = Field(
        default=None, description="When it reached its last phase."
    )
    verdict: Verdict | None = Field(
        default=None, description="What the evidence says; another thing than the phase."
    )
    score: int | None = Field(
        default=None, ge=0, le=100, description="0 to 100; absent when Inconclusive."
    )
    summary: Text = Field(default="", description="The result in one line.")
    conditions: Annotated[tuple[Condition, ...], Field(max_length=16)] = Field(
        default=(), description="What is settled, by type.", json_schema_extra=list_map("type")
    )
    phases: Annotated[tuple[PhaseRecord, ...], Field(max_length=16)] = Field(
        default=(), description="Phases entered, in order.", json_schema_extra=list_map("name")
    )
    faults: Annotated[tuple[FaultStatus, ...], Field(max_length=16)] = Field(
        default=(), description="Journal of the faults.", json_schema_extra=list_map("name")
    )
    inconclusive_reasons: Annotated[
        tuple[InconclusiveReason, ...], Field(max_length=MAX_INCONCLUSIVE_REASONS)
    ] = Field(default=(), description="What limits the proof.", json_schema_extra=LIST_ATOMIC)
    ledger: LedgerCounts = Field(
        default={},
        description="Records by fate: attempted = acked + failed + unknown; each acked record is "
        "lost, expired, undelivered, deliveredLate or delivered.",
    )
    expectation_results: ExpectationResults | None = Field(
        default=None, description="How the claims of spec.expect fared; absent where none was made."
    )
    self_test: SelfTest | None = Field(
        default=None,
        description="The detector's own test; only where spec.scoring.selfTest is true.",
    )
    report: Report | None = Field(default=None, description="Where the result lies.")
    scoring_attempt: int = Field(default=0, ge=0, le=100, description="Number of the scoring Job.")

    @computed_field(  # type: ignore[prop-decorator]
        description="Faults under way, for the printed columns.",
        json_schema_extra={"maxLength": 1024},
    )
    @property
    def active_faults(self) -> str:
        """Names of the faults intended, injected or held, joined by commas."""
        return ",".join(fault.name for fault in self.faults if fault.state.open)

    def replace(self, **changes: Any) -> Self:
        """Return the status with these attributes changed, validated."""
        return self.model_validate({**dict(self), **changes})
