"""How the fields of a plan lie in JSON, and which schema version is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from krt_contract import SCHEMA_VERSION
from krt_contract.entries import Imported, Topic
from krt_contract.errors import ContractError
from krt_contract.members import Member
from krt_contract.metadata import Metadata

if TYPE_CHECKING:
    from krt_contract.fields import Fields
    from krt_contract.plan import Plan


def check_version(document: Any, where: str) -> None:
    """Refuse a plan of another schema version.

    Raises:
        ContractError: it is not an object, or of another version.
    """
    if not isinstance(document, Mapping):
        raise ContractError(f"{where}: not a JSON object")
    version = document.get("schemaVersion")
    if version == SCHEMA_VERSION:
        return
    remedy = (
        "its fields have other names now, run the test again"
        if version == 1
        else "use the version of kafka-resilience that wrote it"
    )
    raise ContractError(
        f"{where}: schemaVersion {version!r} cannot be read, expected {SCHEMA_VERSION}; {remedy}"
    )


def write(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON holds it."""
    document: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "run": {
            "namespace": plan.namespace,
            "name": plan.name,
            "uid": plan.uid,
            "seed": plan.seed,
        },
        "bundle": plan.bundle,
        "spec": dict(plan.resolved_spec),
        "bootstrap": plan.bootstrap,
        "zookeeper": plan.zookeeper,
        "metadata": plan.metadata.to_document(),
        "members": [item.to_document() for item in plan.members],
        "brokerConfig": dict(plan.broker_config),
        "zookeeperConfig": dict(plan.zookeeper_config),
        "controllerConfig": dict(plan.controller_config),
        "topics": [item.to_document() for item in plan.topics],
        "versions": dict(plan.versions),
        "images": dict(plan.images),
    }
    if plan.imported is not None:
        document["imported"] = plan.imported.to_document()
    return document


def read(fields: Fields) -> dict[str, Any]:
    """Return the attributes of the plan that a document holds, by name.

    Raises:
        ContractError: a field is missing or of another type.
    """
    run = fields.child("run")
    return {
        "namespace": run.word("namespace"),
        "name": run.word("name"),
        "uid": run.word("uid"),
        "seed": run.integer("seed"),
        "resolved_spec": fields.document("spec"),
        "topics": tuple(Topic.read(item) for item in fields.items("topics")),
        "bootstrap": fields.text("bootstrap", default=""),
        "zookeeper": fields.text("zookeeper", default=""),
        "members": tuple(Member.read(item) for item in fields.items("members", key="member")),
        "broker_config": fields.settings("brokerConfig"),
        "zookeeper_config": fields.settings("zookeeperConfig"),
        "controller_config": fields.settings("controllerConfig"),
        "metadata": Metadata.read(fields.child("metadata"))
        if fields.has("metadata")
        else Metadata(),
        "images": fields.settings("images"),
        "versions": fields.settings("versions"),
        "imported": Imported.read(fields.child("imported")) if fields.has("imported") else None,
    }
