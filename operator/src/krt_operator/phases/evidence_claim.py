"""The claim that evidence is written to: bound before a pod asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.constants import PREFLIGHT_PATIENCE
from krt_operator.errors import UserError

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.engine.ports import Cluster, Json
    from krt_operator.plan.plan import Plan


def awaited(plan: Plan, cluster: Cluster, since: datetime, at: datetime) -> str:
    """What the claim lacks before pods may be made that mount it; empty where they may.

    The scheduler puts a pod aside whose claim is not bound, and looks again when the claim changes.
    A change that comes while it looks may escape it, and then the pod lies there for the five
    minutes of its `podMaxInUnschedulablePodsDuration` (seen with Kubernetes 1.34: one of two pods
    made together with their claim). A claim whose class waits for its first consumer is bound
    because a pod asks for it, so that one is not waited for.

    Args:
        plan: names the claim.
        cluster: to read the claim and its class.
        since: when the wait began.
        at: now.

    Raises:
        UserError: EvidenceNotBound.
    """
    name = plan.spec.evidence.claim_name
    claim = cluster.get("PersistentVolumeClaim", name)
    phase = "missing" if claim is None else claim.get("status", {}).get("phase", "Pending")
    if phase == "Bound" or (claim is not None and _waits_for_consumer(cluster, claim)):
        return ""
    waited = (at - since).total_seconds()
    if phase == "Lost" or waited > PREFLIGHT_PATIENCE:
        raise UserError(
            "EvidenceNotBound",
            "spec.evidence.claimName",
            f"claim {name} is {phase} after {waited:.0f} s; `kubectl describe pvc {name} "
            f"-n {plan.namespace}` says what its class or volume lacks",
        )
    return f"claim {name} is {phase}; waiting until it is bound"


def _waits_for_consumer(cluster: Cluster, claim: Json) -> bool:
    wanted = claim["spec"].get("storageClassName")
    found = cluster.get("StorageClass", wanted) if wanted else None
    return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"
