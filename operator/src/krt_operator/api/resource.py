"""The resource as a whole, as read from the API server."""

from typing import Any, Self

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from krt_contract.labels import API_VERSION, KIND
from krt_operator.api.base import ApiModel
from krt_operator.api.spec import Spec
from krt_operator.api.status import Status
from krt_operator.api.times import Time

MAX_NAME = 30
"""Length of a test's name: names built on it must stay DNS labels of 63 characters."""


class Metadata(ApiModel):
    """The part of the object's metadata that the controller reads."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, validate_by_name=True
    )

    name: str
    namespace: str
    uid: str
    generation: int = 1
    resource_version: str = ""
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    finalizers: tuple[str, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class KafkaResilienceTest(ApiModel):
    """A test: one resource, one run."""

    api_version: str = API_VERSION
    kind: str = KIND
    metadata: Metadata
    spec: Spec
    status: Status = Status()

    @classmethod
    def parse(cls, body: dict[str, Any]) -> Self:
        """Read an object as the API server returns it.

        Raises:
            pydantic.ValidationError: the object does not fit this controller's models, that is
                the installed CRD is of another version.
        """
        return cls.model_validate(body)
