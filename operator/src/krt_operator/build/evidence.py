"""How the pods of a run reach the evidence: a volume, and the environment of an object store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.labels import Component, owner_reference
from krt_contract.stores.settings import ACCESS_KEY, SECRET_KEY
from krt_operator import names
from krt_operator.build.decorate import labels

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan
    from krt_operator.app.settings import Settings
    from krt_operator.engine.views import Json

VOLUME: Final = "evidence"
"""Name of the volume at /evidence. With an object store it is an empty folder of the pod's own, for
what is copied out of the store."""


def evidence_volume(plan: Plan) -> Json:
    """The volume at /evidence."""
    if plan.spec.evidence.store is not None:
        return {"name": VOLUME, "emptyDir": {}}
    claim = {"claimName": plan.spec.evidence.claim_name}
    return {"name": VOLUME, "persistentVolumeClaim": claim}


def evidence_variables(plan: Plan) -> list[Json]:
    """The environment of a container that reads or writes evidence; none where it is on a claim."""
    store = plan.spec.evidence.store
    if store is None:
        return []
    found: list[Json] = [
        {"name": name, "value": value} for name, value in store.variables().items()
    ]
    asked = plan.spec.evidence.object_store
    if asked is not None and asked.credentials is not None:
        secret = asked.credentials.secret_name
        found += [
            {"name": key, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
            for key in (ACCESS_KEY, SECRET_KEY)
        ]
    return found


def build_store_secret(plan: Plan, settings: Settings) -> Json:
    """The Secret with the keys of the chart's object store, which is deleted with the test."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": names.store_secret(plan.name, plan.uid),
            "namespace": plan.namespace,
            "labels": labels(plan, Component.EVIDENCE),
            "ownerReferences": [owner_reference(plan.name, plan.uid)],
        },
        "immutable": True,
        "stringData": {
            ACCESS_KEY: settings.store_access_key,
            SECRET_KEY: settings.store_secret_key.get_secret_value(),
        },
    }
