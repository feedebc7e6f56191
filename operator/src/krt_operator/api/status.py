"""The status of a test: the journal of the run and its result."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, computed_field

from krt_contract.faults import ObservationKind
from krt_contract.reasons.reason import InconclusiveReasonKind
from krt_operator.api.base import LIST_ATOMIC, StatusModel, Text, Word, list_map
from krt_operator.api.conditions import Condition, ConditionStatus, ConditionType
from krt_operator.api.fault_status import FaultState, FaultStatus, Observation, TargetPod
from krt_operator.api.times import Time

__all__ = [
    "Condition",
    "ConditionStatus",
    "ConditionType",
    "Ending",
    "ExpectationResults",
    "FaultState",
    "FaultStatus",
    "InconclusiveReason",
    "InconclusiveReasonKind",
    "Observation",
    "ObservationKind",
    "Phase",
    "PhaseRecord",
    "ReconcileFailure",
    "Report",
    "Status",
    "TargetPod",
    "Verdict",
]

MAX_INCONCLUSIVE_REASONS = 64
"""Inconclusive reasons kept; each code and subject is reported once, so a run has few."""

MAX_OMITTED_REASONS = 256
"""Reasons beyond those that are counted one by one; in 64 and 256 of them nobody looks for more."""


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


def is_terminal(phase: str | None) -> bool:
    """Whether the phase of another test, as the API server holds it, is its last.

    A phase that only another release knows is none of the last ones.
    """
    return phase in {each.value for each in Phase if each.terminal}


class Verdict(StrEnum):
    """The result of a run, by its evidence."""

    PENDING = "Pending"
    PASSED = "Passed"
    DEGRADED = "Degraded"
    FAILED = "Failed"
    INCONCLUSIVE = "Inconclusive"


class Ending(StrEnum):
    """How a run ends, decided before it is cleaned up."""

    VERDICT_REACHED = "VerdictReached"
    SETUP_FAILED = "SetupFailed"
    ABORTED_BY_USER = "AbortedByUser"


class PhaseRecord(StatusModel):
    """One phase of the run."""

    name: Phase = Field(description="The phase.")
    start_time: Time = Field(description="When the run entered the phase.")
    end_time: Time | None = Field(default=None, description="When the run left the phase.")


class InconclusiveReason(StatusModel):
    """A reason for which the run cannot prove what it should."""

    code: Annotated[str, StringConstraints(max_length=63)] = Field(
        description="CamelCase word, such as OperatorInterrupted."
    )
    kind: InconclusiveReasonKind = Field(
        description="What is in doubt: evidence (anomalies that depend on it do not count) or "
        "coverage (the run tested less than it should)."
    )
    fault: Word = Field(
        default="", description="Name of the fault that the reason is about; empty if none."
    )
    message: Text = Field(description="What happened, and the remedy.")
    at: Time = Field(description="When it was observed.")


class ReconcileFailure(StatusModel):
    """The failure of the last pass of the controller over the test."""

    reason: Word = Field(description="Reason, as in the condition Reconciling.")
    since: Time = Field(description="Since when every pass has failed for this reason.")
    reported: bool = Field(
        default=False, description="Whether the failure is in the condition Reconciling."
    )


class Report(StatusModel):
    """Where the result is stored."""

    config_map: Word = Field(
        default="", description="ConfigMap with the scorecard, without its examples."
    )
    path: Annotated[str, StringConstraints(max_length=1024)] = Field(
        default="", description="The bundle: its folder on the evidence claim or in the bucket."
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


KafkaName = Annotated[str, StringConstraints(max_length=249)]
"""Name of a topic or group; Kafka allows no longer one of a topic."""


class KafkaObjects(StatusModel):
    """What the test has on a cluster that somebody else runs."""

    topics: Annotated[tuple[KafkaName, ...], Field(max_length=16)] = Field(
        default=(),
        description="Topics that the controller has created, or is about to create; none that "
        "was adopted.",
        json_schema_extra=LIST_ATOMIC,
    )
    groups: Annotated[tuple[KafkaName, ...], Field(max_length=16)] = Field(
        default=(), description="Groups of the test's consumers.", json_schema_extra=LIST_ATOMIC
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
    ending: Ending | None = Field(
        default=None,
        description="How the run ends; decided before it is cleaned up, absent until then.",
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
    omitted_reasons: Annotated[tuple[Word, ...], Field(max_length=MAX_OMITTED_REASONS)] = Field(
        default=(),
        description="Code and digest of each inconclusive reason that did not fit into "
        "inconclusiveReasons, so that each is counted once.",
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
    reconcile_failure: ReconcileFailure | None = Field(
        default=None,
        description="Failure of the controller's last pass over the test; absent if it succeeded.",
    )
    kafka_objects: KafkaObjects | None = Field(
        default=None,
        description="Topics and groups of the test on the cluster of spec.kafkaRef; absent before "
        "they are created and after they are deleted.",
    )
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
