"""Settings that users can add to every pod of a test."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from krt_operator.api.base import (
    LIST_ATOMIC,
    MAX_ITEMS,
    ApiModel,
    LabelValue,
    ObjectName,
    list_map,
)

Key = Annotated[str, StringConstraints(min_length=1, max_length=253)]
Labels = Annotated[dict[Key, LabelValue], Field(max_length=MAX_ITEMS)]
Annotations = Annotated[
    dict[Key, Annotated[str, StringConstraints(max_length=1024)]], Field(max_length=MAX_ITEMS)
]


class PodMetadata(ApiModel):
    """Labels and annotations; those of the controller take precedence."""

    labels: Labels = Field(default={}, description="Labels added to every pod.")
    annotations: Annotations = Field(default={}, description="Annotations added to every pod.")


class TolerationOperator(StrEnum):
    """How a toleration matches a taint."""

    EQUAL = "Equal"
    EXISTS = "Exists"


class TaintEffect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Toleration(ApiModel):
    """A toleration, as in a pod."""

    key: Key | None = Field(
        default=None, description="Taint key; unset with operator Exists: every taint."
    )
    operator: TolerationOperator = Field(
        default=TolerationOperator.EQUAL, description="How the taint is matched."
    )
    value: LabelValue | None = Field(default=None, description="Taint value, with operator Equal.")
    effect: TaintEffect | None = Field(
        default=None, description="Taint effect; unset: every effect."
    )
    toleration_seconds: int | None = Field(
        default=None, ge=0, le=86_400, description="Seconds a NoExecute taint is tolerated."
    )


class PullSecret(ApiModel):
    """A secret with registry credentials, in the test's namespace."""

    name: ObjectName = Field(description="Name of the secret.")


class PodSecurityContext(ApiModel):
    """Identity of the processes; the rest follows the restricted pod security standard."""

    run_as_user: int | None = Field(
        default=None,
        ge=1,
        le=2_147_483_647,
        description="User of every container; unset: 10001. Any user in group 0 works.",
    )
    run_as_group: int | None = Field(
        default=None, ge=0, le=2_147_483_647, description="Group of every container; unset: 0."
    )
    fs_group: int | None = Field(
        default=None, ge=0, le=2_147_483_647, description="Group that owns the volumes; unset: 0."
    )
    supplemental_groups: Annotated[
        tuple[Annotated[int, Field(ge=0, le=2_147_483_647)], ...], Field(max_length=MAX_ITEMS)
    ] = Field(default=(), description="Further groups.", json_schema_extra=LIST_ATOMIC)


class PodTemplate(ApiModel):
    """Settings added to every pod of the test."""

    metadata: PodMetadata = Field(default=PodMetadata(), description="Labels and annotations.")
    node_selector: Labels = Field(default={}, description="Labels that a node must have.")
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Taints that the pods tolerate.", json_schema_extra=LIST_ATOMIC
    )
    priority_class_name: ObjectName | None = Field(
        default=None, description="Priority class of the pods."
    )
    image_pull_secrets: Annotated[tuple[PullSecret, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Secrets the images are pulled with.",
        json_schema_extra=list_map("name"),
    )
    security_context: PodSecurityContext = Field(
        default=PodSecurityContext(), description="Identity of the processes."
    )
