"""The resource's models, the one source of its CustomResourceDefinition."""

from krt_operator.api.resource import KafkaResilienceTest
from krt_operator.api.spec import Spec
from krt_operator.api.status import Phase, Status, Verdict

__all__ = [
    "KafkaResilienceTest",
    "Phase",
    "Spec",
    "Status",
    "Verdict",
]
