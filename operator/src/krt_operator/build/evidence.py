"""How the pods of a run reach the evidence: volumes, environment and account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract.labels import Component
from krt_contract.stores import ca
from krt_contract.stores.settings import ACCESS_KEY, SECRET_KEY, evidence_account
from krt_operator import names
from krt_operator.build.decorate import build_secret, decorate_objects
from krt_operator.build.render import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_operator.api.plan import Plan
    from krt_operator.app.settings import Settings
    from krt_operator.engine.views import Json

VOLUME: Final = "evidence"
"""Name of the volume at /evidence. With an object store it is an empty folder of the pod's own, for
what is copied out of the store."""


@dataclass(frozen=True)
class EvidenceAccess:
    """What a pod needs that reads or writes evidence.

    Attributes:
        volumes: of the pod.
        mounts: of its container.
        variables: environment of its container; none where evidence is on a claim.
        account: service account of a pod that has none of its own; empty where evidence is reached
            without an identity.
    """

    volumes: tuple[Json, ...]
    mounts: tuple[Json, ...]
    variables: tuple[Json, ...]
    account: str


def evidence_access(plan: Plan) -> EvidenceAccess:
    """What the pods of a run need that read or write its evidence."""
    evidence = plan.spec.evidence
    mounts: list[Json] = [{"name": VOLUME, "mountPath": "/evidence"}]
    if evidence.store is None:
        claim = {"claimName": evidence.claim_name}
        volume = {"name": VOLUME, "persistentVolumeClaim": claim}
        return EvidenceAccess((volume,), tuple(mounts), (), "")
    volumes: list[Json] = [{"name": VOLUME, "emptyDir": {}}]
    if evidence.object_store is not None and evidence.object_store.ca is not None:
        volumes.append(ca.volume(evidence.object_store.ca.dump()))
        mounts.append(ca.mount())
    account = evidence_account(plan.name) if evidence.by_identity else ""
    return EvidenceAccess(tuple(volumes), tuple(mounts), tuple(_variables(plan)), account)


def _variables(plan: Plan) -> list[Json]:
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


def build_store_ca(plan: Plan, settings: Settings) -> Json:
    """The ConfigMap with the CAs of the chart's bucket, which is deleted with the test."""
    name, data = names.store_ca(plan.name), {ca.KEY: settings.store_ca}
    objects = render("config.yaml.j2", name=name, data=data, immutable=True)
    return decorate_objects(objects, plan, Component.EVIDENCE)[0]


def build_evidence_account(plan: Plan, annotations: Mapping[str, str]) -> Json:
    """The service account, without any role, of pods that have no account of their own.

    Args:
        plan: of the run.
        annotations: by which a cloud provider gives it an identity.
    """
    objects = render(
        "account.yaml.j2", name=evidence_account(plan.name), annotations=annotations, role=""
    )
    return decorate_objects(objects, plan, Component.EVIDENCE)[0]


def build_store_secret(plan: Plan, settings: Settings) -> Json:
    """The Secret with the keys of the chart's object store, which is deleted with the test."""
    texts = {
        ACCESS_KEY: settings.store_access_key,
        SECRET_KEY: settings.store_secret_key.get_secret_value(),
    }
    return build_secret(plan, Component.EVIDENCE, names.store_secret(plan.name, plan.uid), texts)
