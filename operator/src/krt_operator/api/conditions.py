"""Conditions of a test: their types, and how a condition is set."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from krt_operator.api.base import ApiModel, Text
from krt_operator.api.times import Time


class ConditionType(StrEnum):
    """The types of a test's conditions. Absent or Unknown: not decided yet."""

    PROVISIONED = "Provisioned"
    """True: members, racks and topics are as described, checked in the cluster.
    False: they could not be provisioned; the reason says why."""
    SETTINGS_RECOGNIZED = "SettingsRecognized"
    """True: the brokers know every setting of spec.kafka.config. False: they ignore at least one;
    the message names it."""
    TRAFFIC_ESTABLISHED = "TrafficEstablished"
    """True: every producer writes, every group reads and commits. False: they did not in time."""
    FAULTS_INJECTED = "FaultsInjected"
    """True: every fault was injected and reverted. False: at least one was not."""
    RECOVERED = "Recovered"
    """True: after every revert the cluster recovered. False: it did not in time."""
    DRAINED = "Drained"
    """True: consumers reached the stable end of every partition. False: they did not in time."""
    REPLICAS_DUMPED = "ReplicasDumped"
    """True: the offsets of every broker's replicas are in the evidence. False: not all of them; the
    message says what is missing. Absent: spec.evidence.compareReplicas is not set."""
    SCORED = "Scored"
    """True: the Spark job scored the evidence. False: it could not."""
    EXPECTATIONS_MET = "ExpectationsMet"
    """True: every expectation of spec.expect is met. False: at least one is not met. Unknown: at
    least one could not be evaluated, and all others are met. Absent: spec.expect is empty."""
    RECONCILING = "Reconciling"
    """True: the controller takes the run forward again after a failure. False: it fails to, and the
    message gives the remedy; or the run is over (RunFinished). Absent: no pass has failed."""
    FINISHED = "Finished"
    """True: the run is over, however it ended."""
    SUCCEEDED = "Succeeded"
    """True: finished with verdict Passed. False: finished otherwise; the reason is the verdict."""


class ConditionStatus(StrEnum):
    """The status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(ApiModel):
    """A condition, as Kubernetes defines them."""

    type: ConditionType = Field(description="Type of the condition.")
    status: ConditionStatus = Field(description="True, False or Unknown.")
    reason: Annotated[
        str, StringConstraints(min_length=1, max_length=63, pattern=r"^[A-Za-z][A-Za-z0-9]*$")
    ] = Field(description="CamelCase word that gives the cause of the status.")
    message: Text = Field(
        default="", description="Details, with the remedy where something is wrong."
    )
    last_transition_time: Time = Field(description="When the status last changed.")
    observed_generation: int | None = Field(
        default=None,
        ge=0,
        description="Generation of the resource for which the condition was set.",
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
    return next((condition for condition in conditions if condition.type is type_), None)
