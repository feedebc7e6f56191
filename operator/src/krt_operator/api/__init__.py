"""The resource's models, the one source of its CustomResourceDefinition."""

from krt_operator.api.resource import (
    API_VERSION,
    GROUP,
    KIND,
    PLURAL,
    VERSION,
    KafkaResilienceTest,
)
from krt_operator.api.spec import Spec
from krt_operator.api.status import Phase, Status, Verdict

__all__ = [
    "API_VERSION",
    "GROUP",
    "KIND",
    "PLURAL",
    "VERSION",
    "KafkaResilienceTest",
    "Phase",
    "Spec",
    "Status",
    "Verdict",
]
