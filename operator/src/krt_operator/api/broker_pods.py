"""The pods of a cluster that somebody else runs, where faults may act on them."""

import re
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, StringConstraints

from krt_operator.api.base import ApiModel, LabelValue, Rule

NamespaceName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
]
"""Name of a namespace."""
ContainerName = NamespaceName
"""Name of a container, which is spelled like that of a namespace."""
LABEL_KEY = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
"""What the key of a label looks like, with or without a prefix."""


def _label_key(key: str) -> str:
    if not re.fullmatch(LABEL_KEY, key):
        raise ValueError(f"{key!r} cannot be the key of a label")
    return key


LabelKey = Annotated[str, AfterValidator(_label_key)]
"""Key of a label."""


class PodManager(StrEnum):
    """Who creates a broker's pod again after it was deleted."""

    NONE = "None"
    STATEFUL_SET = "StatefulSet"
    STRIMZI = "Strimzi"


class PodSelector(ApiModel):
    """Labels that pods have."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule=f"self.matchLabels.all(k, k.matches('{LABEL_KEY}'))",
            message="matchLabels has a key that cannot be the key of a label",
        ),
    )

    match_labels: Annotated[dict[LabelKey, LabelValue], Field(min_length=1, max_length=16)] = Field(
        description="Labels of the brokers' pods, all of which a pod must have."
    )


class BrokerPods(ApiModel):
    """The pods of the brokers, on which faults may act."""

    namespace: NamespaceName | None = Field(
        default=None,
        description="Namespace of the pods; unset: the namespace of the test. The controller needs "
        "a Role there that names it (chart value kafkaRef.podNamespaces).",
    )
    selector: PodSelector = Field(
        description="Labels of the pods. A pod without them is never touched."
    )
    manager: PodManager = Field(
        default=PodManager.STATEFUL_SET,
        description="Who creates a deleted pod again: a StatefulSet, or the pod set of a Strimzi "
        "cluster. None: nobody, so that DeletePod and FreezePod are refused.",
    )
    container: ContainerName | None = Field(
        default=None,
        description="Container that runs Kafka, for CrashPod and FreezePod; unset: the one that is "
        "called kafka, else the only one of the pod.",
    )
