"""What the API server demands of a schema, and what users expect of it, without an API server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from krt_operator.api.crd import crd, spec_schema, status_schema
from krt_operator.api.reference import page

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[4]
FORBIDDEN = {
    "$ref",
    "$defs",
    "anyOf",
    "allOf",
    "oneOf",
    "not",
    "const",
    "title",
    "patternProperties",
    "propertyNames",
    "uniqueItems",
    "x-kubernetes-preserve-unknown-fields",
    "exclusiveMinimum",
    "exclusiveMaximum",
}


def nodes(path: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(f"{path}.{name}", child)
    if "items" in schema:
        yield from nodes(f"{path}[]", schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        yield from nodes(f"{path}{{}}", schema["additionalProperties"])


ALL = [*nodes("spec", spec_schema()), *nodes("status", status_schema())]


@pytest.mark.parametrize(("path", "schema"), ALL, ids=[path for path, _ in ALL])
def test_schema_node_is_structural_and_bounded(path: str, schema: dict[str, Any]) -> None:
    assert not FORBIDDEN & schema.keys()
    if schema.get("x-kubernetes-int-or-string"):
        assert "type" not in schema
        return
    match schema["type"]:
        case "string":
            assert "enum" in schema or schema["maxLength"] > 0
        case "array":
            assert schema["maxItems"] > 0
            assert schema["x-kubernetes-list-type"] in {"map", "set", "atomic"}
        case "object":
            assert ("properties" in schema) != ("additionalProperties" in schema)
            assert "properties" in schema or schema["maxProperties"] > 0
        case "integer":
            assert path.startswith("status") or {"minimum", "maximum"} <= schema.keys()
        case other:
            assert other == "boolean"


@pytest.mark.parametrize(("path", "schema"), ALL, ids=[f"described {path}" for path, _ in ALL])
def test_schema_field_has_a_description(path: str, schema: dict[str, Any]) -> None:
    if not path.endswith(("[]", "{}")):
        assert schema["description"][0].isupper() or schema["description"][0].isdigit()


def test_spec_schema_children_except_abort_are_immutable() -> None:
    for name, child in spec_schema()["properties"].items():
        rules = [rule["rule"] for rule in child["x-kubernetes-validations"]]
        assert ("self || !oldSelf" if name == "abort" else "self == oldSelf") in rules


def test_spec_schema_optional_children_cannot_appear_later() -> None:
    """A transition rule does not run when a field appears or vanishes."""
    schema = spec_schema()
    optional = {
        name
        for name, child in schema["properties"].items()
        if "default" not in child and name not in schema["required"]
    }
    assert optional == {"kafkaRef", "ttlSecondsAfterFinished", "zookeeper"}
    rules = [rule["rule"] for rule in schema["x-kubernetes-validations"]]
    for name in optional:
        assert f"has(self.{name}) == has(oldSelf.{name})" in rules


def test_status_schema_has_every_field_and_no_default() -> None:
    assert all("default" not in schema for path, schema in ALL if path.startswith("status"))
    fields = status_schema()["properties"]
    assert fields.keys() >= {
        *("observedGeneration", "phase", "startTime", "completionTime", "verdict", "score"),
        *("summary", "conditions", "phases", "faults", "inconclusiveReasons", "ledger", "report"),
    }
    assert fields["faults"]["items"]["properties"].keys() >= {
        *("name", "state", "targets", "scheduledAt", "injectedAt", "revertedAt", "recoveredAt"),
        *("verified", "observations"),
    }
    assert fields["conditions"]["x-kubernetes-list-map-keys"] == ["type"]
    assert "required" not in status_schema()


def test_crd_has_names_columns_and_subresource() -> None:
    spec = crd()["spec"]
    assert spec["names"]["shortNames"] == ["krt"]
    assert spec["names"]["categories"] == ["kafka", "chaos"]
    (version,) = spec["versions"]
    assert version["subresources"] == {"status": {}}
    assert [column["name"] for column in version["additionalPrinterColumns"]] == [
        *("Phase", "Verdict", "Score", "Expected", "Fault", "Summary", "Age")
    ]


def test_crd_fits_into_client_side_apply() -> None:
    """Client-side apply keeps the whole object in an annotation of at most 256 KiB."""
    assert len(str(crd())) < 262_144 * 0.8


def test_rendered_crd_and_reference_are_current() -> None:
    stale = "is stale: run make manifests"
    assert yaml.safe_load((ROOT / "manifests/crd.yaml").read_text()) == crd(), f"crd.yaml {stale}"
    reference = ROOT / "docs/reference/resource.md"
    assert reference.read_text() == page(crd()), f"resource.md {stale}"
