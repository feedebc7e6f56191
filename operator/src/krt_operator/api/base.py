"""The base of every model of the resource: immutable, camelCase names, CEL rules.

The models are the one source of the CustomResourceDefinition (see `crd.py`): fields define types,
bounds, defaults and descriptions, `Rule` the rules across fields.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

MAX_ITEMS = 16
"""Elements in any list: keeps every CEL rule within the cost budget of the API server."""

MAX_CONFIG_ENTRIES = 32
"""Entries in a settings map, for the same reason."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL validation rule, evaluated by the API server.

    Attributes:
        rule: expression that must be true; `self` is the value that carries the rule.
        message: sentence shown when it is false and there is no `expression`.
        expression: CEL string that names the element at fault, or None.
    """

    rule: str
    message: str
    expression: str | None = None

    def as_json(self) -> dict[str, str]:
        """Return the element of `x-kubernetes-validations`."""
        body = {"rule": self.rule, "message": self.message}
        if self.expression:
            body["messageExpression"] = self.expression
        return body


REFUSED = "Refused: "
"""How the description of a field begins that every resource must leave out."""


@dataclass(frozen=True, slots=True)
class RenamedField:
    """A field under its old name.

    The API server would prune an unknown field, or name it without a remedy. So the schema has the
    old field, with a rule that always fails and gives the new name.

    Attributes:
        new: the new name.
        schema: JSON schema of the field's type.
    """

    new: str
    schema: Mapping[str, Any]

    def as_json(self, old: str) -> dict[str, Any]:
        """Return the schema of the field that is refused."""
        return {
            **self.schema,
            "description": f"{REFUSED}the field is now {self.new}.",
            **rules(Rule(rule="false", message=f"{old} is now {self.new}")),
        }


def rules(*each: Rule) -> dict[str, Any]:
    """Return the JSON schema extension that carries these rules, for `json_schema_extra`."""
    return {"x-kubernetes-validations": [rule.as_json() for rule in each]}


def list_map(*keys: str) -> dict[str, Any]:
    """Return the extension for a list of elements with unique keys."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


LIST_SET: dict[str, Any] = {"x-kubernetes-list-type": "set"}
LIST_ATOMIC: dict[str, Any] = {"x-kubernetes-list-type": "atomic"}


class ApiModel(BaseModel):
    """Base of all models: frozen, camelCase outside, snake_case inside, unknown fields refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True
    )

    cel: ClassVar[tuple[Rule, ...]] = ()
    renamed: ClassVar[Mapping[str, RenamedField]] = {}
    """Old field name to the field that replaces it."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_old_names(cls, value: Any) -> Any:
        if isinstance(value, dict):
            for old, field in cls.renamed.items():
                if old in value:
                    raise ValueError(f"{old} is now {field.new}")
        return value

    def dump(self) -> dict[str, Any]:
        """Return JSON as the API server holds it: camelCase, without what is unset."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class StatusModel(ApiModel):
    """Base of what the controller writes: unknown fields of a newer controller are ignored."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, validate_by_name=True
    )


DNS_LABEL = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
ShortName = Annotated[str, StringConstraints(min_length=1, max_length=15, pattern=DNS_LABEL)]
"""Name of a producer or consumer: `<test ≤ 30>-producer-<name>-<replica>` must stay a pod name."""
LongName = Annotated[str, StringConstraints(min_length=1, max_length=30, pattern=DNS_LABEL)]
"""Name of a fault: `krt-freeze-<name>-<n>-<time>` must stay a container name (63 characters)."""
ObjectName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"),
]
"""Name of another Kubernetes object."""
DataKey = Annotated[
    str, StringConstraints(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")
]
"""Key of a Secret or ConfigMap, as Kubernetes allows it."""
TopicName = Annotated[
    str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]*$")
]
"""A Kafka topic; Kafka allows 249 characters, and its internal topics start with an underscore."""
LabelValue = Annotated[
    str,
    StringConstraints(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"),
]
"""A Kubernetes label value; zones are label values."""
Text = Annotated[str, StringConstraints(max_length=1024)]
"""A sentence."""
SETTING_NAME = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
"""What the names of settings look like, in Kafka, ZooKeeper and librdkafka. Anything else could
write another line of a properties file than its own, or hide a reserved name behind a blank."""
SETTING_NAME_FORM = (
    "must be the name of a setting: at most 100 letters, digits, dots, dashes and underscores, "
    "without blanks or line breaks"
)
SETTING_TEXT = r"^[^\x00-\x1f\x7f]*$"
"""What the value of a setting looks like: one line of text."""
SETTING_TEXT_FORM = (
    "must be one line of text, without line breaks, tabs or other control characters"
)


def _setting_name(name: str) -> str:
    if not re.fullmatch(SETTING_NAME, name):
        raise ValueError(f"setting {name!r} {SETTING_NAME_FORM}")
    return name


def _setting_text(value: str) -> str:
    if not re.fullmatch(SETTING_TEXT, value):
        raise ValueError(f"value {value!r} {SETTING_TEXT_FORM}")
    return value


SettingValue = Annotated[str, StringConstraints(max_length=256), AfterValidator(_setting_text)]
"""Value of a Kafka or ZooKeeper setting, always a string as in their property files."""
SettingKey = Annotated[str, AfterValidator(_setting_name)]
"""Name of a setting."""
Word = Annotated[str, StringConstraints(max_length=253)]
"""A name or a short word in the status."""
