"""The part of the status that belongs to one fault: its journal."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from krt_contract.faults import ObservationKind
from krt_contract.members import broker_of
from krt_operator.api.base import LIST_ATOMIC, StatusModel, Text, Word
from krt_operator.api.times import Time


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
    namespace: Word = Field(
        default="",
        description="Namespace of the pod, where it is a broker's of spec.kafkaRef.pods; empty for "
        "a pod of the test.",
    )
    member: Word = Field(
        description="Member of the pod, such as kafka-0. Of a broker of spec.kafkaRef, the number "
        "is its broker id."
    )
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
    injected_at: Time | None = Field(
        default=None,
        description="When the fault was injected: no later than any effect of it.",
    )
    reverted_at: Time | None = Field(default=None, description="When the fault was reverted.")
    recovered_at: Time | None = Field(default=None, description="When the cluster had recovered.")
    recovery_timed_out_at: Time | None = Field(
        default=None,
        description="When the controller stopped waiting for the recovery (timeouts.recovery).",
    )
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
        default="",
        description="Why the fault was skipped, what it waits for, or why the cluster did not "
        "recover from it in time.",
    )

    @property
    def referenced_brokers(self) -> dict[int, TargetPod]:
        """Broker id to pod of those targets that are brokers of spec.kafkaRef."""
        brokers = ((broker_of(target.member), target) for target in self.targets)
        return {
            number: target for number, target in brokers if target.namespace and number is not None
        }
