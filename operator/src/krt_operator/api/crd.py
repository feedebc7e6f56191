"""The CustomResourceDefinition, generated from the models.

Pydantic's JSON schema becomes a structural one: references are inlined, `null` alternatives dropped
(unset means absent), the rules of the models' `cel` added. Every field of spec except `abort` is
immutable.
"""

import copy
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from krt_contract.labels import GROUP, KIND, PLURAL, VERSION
from krt_operator.api.base import ApiModel, Rule
from krt_operator.api.durations import Duration
from krt_operator.api.resource import MAX_NAME
from krt_operator.api.spec import Spec
from krt_operator.api.status import Status

Json = dict[str, Any]

_DROPPED = ("title", "readOnly", "propertyNames", "additionalItems", "examples")
"""Keywords that structural schemas refuse or that say nothing to an API server."""

NAME_RULE = Rule(
    rule=f"self.metadata.name.size() <= {MAX_NAME} && "
    "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    message=f"metadata.name must be at most {MAX_NAME} characters of a-z, 0-9 and -, and begin "
    "with a letter, because services and pods are named after it",
)

ABORT_RULE = Rule(rule="self || !oldSelf", message="spec.abort cannot be taken back")

COLUMNS = (
    ("Phase", "string", ".status.phase", 0),
    ("Verdict", "string", ".status.verdict", 0),
    ("Score", "integer", ".status.score", 0),
    ("Expected", "string", ".status.conditions[?(@.type=='ExpectationsMet')].status", 0),
    ("Fault", "string", ".status.activeFaults", 0),
    ("Summary", "string", ".status.summary", 1),
    ("Age", "date", ".metadata.creationTimestamp", 0),
)
"""Name, type, path, priority (1: with -o wide)."""


def _models(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Return every model below this one, by class name."""
    found: dict[str, type[BaseModel]] = {}
    todo: list[Any] = [model]
    while todo:
        annotation = todo.pop()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            if annotation.__name__ not in found:
                found[annotation.__name__] = annotation
                todo.extend(field.annotation for field in annotation.model_fields.values())
        else:
            todo.extend(getattr(annotation, "__args__", ()))
    return found


class _Generator(GenerateJsonSchema):
    def encode_default(self, dft: Any) -> Any:
        """Write a duration as users do; pydantic would write a dataclass."""
        return str(dft) if isinstance(dft, Duration) else super().encode_default(dft)


class _Structural:
    """Turns pydantic's JSON schema of one model into a structural schema.

    Args:
        model: the model at the root.
        keep_defaults: whether defaults are the API server's to fill in.
    """

    def __init__(self, model: type[BaseModel], *, keep_defaults: bool) -> None:
        self._raw = model.model_json_schema(
            by_alias=True, mode="serialization", schema_generator=_Generator
        )
        self._definitions: Json = self._raw.pop("$defs", {})
        self._models = _models(model)
        self._root = model.__name__
        self._keep_defaults = keep_defaults

    def build(self) -> Json:
        """Return the schema."""
        return self._node(self._raw, self._root)

    def _node(self, node: Json, name: str | None = None) -> Json:
        node = dict(node)
        if "anyOf" in node:
            (only,) = [each for each in node.pop("anyOf") if each != {"type": "null"}]
            node = {**only, **node}
        if "$ref" in node:
            name = node.pop("$ref").rsplit("/", 1)[1]
            node = {**copy.deepcopy(self._definitions[name]), **node}
        for keyword in _DROPPED:
            node.pop(keyword, None)
        if node.get("additionalProperties") is False:
            del node["additionalProperties"]
        return self._with_children(node, name)

    def _with_children(self, node: Json, name: str | None) -> Json:
        if node.get("type") == "integer":
            node["format"] = "int64"
        if "items" in node:
            node["items"] = self._node(node["items"])
        if isinstance(node.get("additionalProperties"), dict):
            node["additionalProperties"] = self._node(node["additionalProperties"])
        if "properties" in node:
            children = node["properties"]
            required = [
                key
                for key, child in children.items()
                if "default" not in child and not child.get("readOnly")
            ]
            node["properties"] = {key: self._node(child) for key, child in children.items()}
            node.pop("required", None)
            if required:
                node["required"] = required
            self._of_model(node, name)
        self._default(node)
        return node

    def _of_model(self, node: Json, name: str | None) -> None:
        """Add the rules of the node's model, and its fields under their old names."""
        model = self._models.get(name or "")
        if model is None or not issubclass(model, ApiModel):
            return
        if model.cel:
            own = [rule.as_json() for rule in model.cel]
            node["x-kubernetes-validations"] = node.get("x-kubernetes-validations", []) + own
        for old, field in model.renamed.items():
            node["properties"][old] = field.as_json(old)

    def _default(self, node: Json) -> None:
        """Keep a default only where it sets something, in its shortest form."""
        default = _without_nulls(node.pop("default", None))
        if default is None or not self._keep_defaults:
            return
        if isinstance(default, dict) and "properties" in node:
            own = {
                key: child["default"]
                for key, child in node["properties"].items()
                if "default" in child
            }
            if _filled(default, node) == _filled(own, node):
                default = {}
        node["default"] = default


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _filled(value: Any, schema: Json) -> Any:
    """Return the value with the schema's defaults filled in, as the API server does it."""
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    result = dict(value)
    for key, child in schema["properties"].items():
        if key not in result and "default" in child:
            result[key] = child["default"]
        if key in result:
            result[key] = _filled(result[key], child)
    return result


def _immutable(child: str) -> Json:
    return Rule(
        rule="self == oldSelf",
        message=f"spec.{child} cannot change once the test exists; delete it and create a new one",
    ).as_json()


def _order(child: str) -> Json:
    """The API server compares a list by key without its order, but faults wait for earlier ones."""
    return Rule(
        rule="self.map(f, f.name) == oldSelf.map(f, f.name)",
        message=f"the order of spec.{child} cannot change once the test exists",
    ).as_json()


def spec_schema() -> Json:
    """Return the schema of spec, with the rules that make it immutable."""
    schema = _Structural(Spec, keep_defaults=True).build()
    for name, child in schema["properties"].items():
        added = [ABORT_RULE.as_json()] if name == "abort" else [_immutable(name)]
        if name == "faults":
            added.append(_order(name))
        child["x-kubernetes-validations"] = child.get("x-kubernetes-validations", []) + added
    return schema


def status_schema() -> Json:
    """Return the schema of status: every field the controller writes, none with a default."""
    return _Structural(Status, keep_defaults=False).build()


def crd() -> Json:
    """Return the whole CustomResourceDefinition."""
    schema = {
        "type": "object",
        "description": "A test of a Kafka cluster: the cluster is deployed, kept under load and "
        "exposed to faults, and its data is checked. One resource is one run.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": f"{GROUP}/{VERSION}"},
            "kind": {"type": "string", "description": KIND},
            "metadata": {"type": "object"},
            "spec": spec_schema(),
            "status": status_schema(),
        },
        "x-kubernetes-validations": [NAME_RULE.as_json()],
    }
    columns = [
        {"name": name, "type": type_, "jsonPath": path, "priority": priority}
        for name, type_, path, priority in COLUMNS
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["krt"],
                "categories": ["kafka", "chaos"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
