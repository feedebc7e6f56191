"""Conditions of a test: what each says, and how one is set."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from krt_operator.api.base import ApiModel, Text
from krt_operator.api.times import Time


class ConditionType(StrEnum):
    """The conditions of a test. Absent or Unknown: not decided yet."""

    PROVISIONED = "Provisioned"
    """True: members, racks, topics stand as described, checked in the cluster.
    False: they could not be built; the reason says why."""
    TRAFFIC_ESTABLISHED = "TrafficEstablished"
    """True: every producer writes and every group reads and commits. False: not in time."""
    FAULTS_INJECTED = "FaultsInjected"
    """True: every fault was injected and reverted. False: at least one was not."""
    RECOVERED = "Recovered"
    """True: after every revert the cluster became whole. False: it did not in time."""
    DRAINED = "Drained"
    """True: consumers reached the settled end of every partition. False: not in time."""
    REPLICAS_DUMPED = "ReplicasDumped"
    """True: what every broker's replicas hold is in the evidence. False: not all of it; the message
    says what is missing. Absent: spec.evidence.compareReplicas does not ask for it."""
    SCORED = "Scored"
    """True: the Spark job judged the evidence. False: it could not."""
    EXPECTATIONS_MET = "ExpectationsMet"
    """True: every expectation of spec.expect is met. False: one did not. Unknown: one could not be
    measured, and none is known not to hold. Absent: nothing was claimed."""
    FINISHED = "Finished"
    """True, once: the run is over, however it ended."""
    SUCCEEDED = "Succeeded"
    """True: finished with verdict Passed. False: finished otherwise; the reason is the verdict."""


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(ApiModel):
    """A condition, as Kubernetes defines them."""

    type: ConditionType = Field(description="What the condition is about.")
    status: ConditionStatus = Field(description="True, False or Unknown.")
    reason: Annotated[
        str, StringConstraints(min_length=1, max_length=63, pattern=r"^[A-Za-z][A-Za-z0-9]*$")
    ] = Field(description="One word that says why.")
    message: Text = Field(
        default="", description="A sentence for people, with the remedy if one is due."
    )
    last_transition_time: Time = Field(description="When the status last changed.")
    observed_generation: int | None = Field(
        default=None, ge=0, description="Generation of the resource this was said of."
    )


def with_condition(conditions: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    """Return the conditions with one set, in the order they were first set.

    The transition time of an unchanged status is kept.
    """
    result, found = [], False
    for old in conditions:
        if old.type is not new.type:
            result.append(old)
            continue
        found = True
        since = old.last_transition_time if old.status is new.status else new.last_transition_time
        result.append(new.model_copy(update={"last_transition_time": since}))
    return tuple(result if found else [*result, new])


def find_condition(conditions: tuple[Condition, ...], type_: ConditionType) -> Condition | None:
    """Return the condition of this type, or None."""
    return next((one for one in conditions if one.type is type_), None)
