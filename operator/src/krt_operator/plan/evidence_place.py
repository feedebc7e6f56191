"""Where the evidence of a run goes: as its resource says, or as the chart does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.bundle import DEFAULT_CLAIM
from krt_operator import names
from krt_operator.api.evidence import Evidence, ObjectStore, StoreCa, StoreCredentials
from krt_operator.errors import UserError

if TYPE_CHECKING:
    from krt_operator.app.settings import Settings
    from krt_operator.engine.progress import Run


def uses_chart_store(evidence: Evidence, settings: Settings) -> bool:
    """Whether the evidence goes into the object store of the chart.

    Args:
        evidence: of the resource, not of the plan.
        settings: of the installation.
    """
    if evidence.object_store is not None:
        return evidence.object_store.bucket is None
    return evidence.claim_name is None and settings.evidence_default == "objectStore"


def resolve(run: Run, settings: Settings) -> Evidence:
    """The evidence of a spec with a claim, or with a bucket and everything that it takes.

    Raises:
        UserError: EvidenceStoreMissing.
    """
    evidence = run.spec.evidence
    if not uses_chart_store(evidence, settings):
        if evidence.object_store is not None:
            return evidence
        return evidence.model_copy(update={"claim_name": evidence.claim_name or DEFAULT_CLAIM})
    if not settings.store_bucket:
        raise UserError(
            "EvidenceStoreMissing",
            "spec.evidence.objectStore",
            "the chart has no object store; set the chart value evidence.objectStore.enabled to "
            "true or evidence.objectStore.bucket to a bucket, or name a bucket in the test",
        )
    asked = evidence.object_store or ObjectStore()
    has_keys = bool(settings.store_access_key)
    store = ObjectStore(
        bucket=settings.store_bucket,
        endpoint=settings.store_endpoint or None,
        region=settings.store_region,
        prefix=settings.store_prefix if asked.prefix is None else asked.prefix,
        path_style=settings.store_path_style,
        credentials=StoreCredentials(secret_name=names.store_secret(run.name, run.uid))
        if has_keys
        else None,
        ca=StoreCa(config_map_name=names.store_ca(run.name)) if settings.store_ca_file else None,
    )
    return evidence.model_copy(update={"object_store": store})
