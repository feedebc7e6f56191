"""What the two preflight pods found: is the evidence volume shared, are the images what we need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_operator import names
from krt_operator.build.shared import PREFLIGHT_ROLES
from krt_operator.constants import PREFLIGHT_PATIENCE, SHARING_PATIENCE
from krt_operator.errors import UserError
from krt_operator.health import pod_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.engine.ports import Json, Observed
    from krt_operator.plan.plan import Plan

NOT_WRITABLE: Final = 6
"""Exit code of preflight.sh."""

REMEDY: Final = (
    "name a claim of a class that serves ReadWriteMany to all nodes (NFS, CephFS, EFS, Azure "
    "Files; on kind the class krt-evidence that hack/up makes)"
)


def judge(plan: Plan, world: Observed) -> bool:
    """Whether both preflight pods have ended well; False while they are at it.

    Raises:
        UserError: EvidenceNotShared, EvidenceNotWritable, KafkaImageUnusable,
            ScoringImageUnusable, or PreflightTimedOut.
    """
    pods = [world.pods.get(names.preflight_pod(plan.name, role)) for role in PREFLIGHT_ROLES]
    for role, pod in zip(PREFLIGHT_ROLES, pods, strict=True):
        if pod is not None:
            _judge_one(plan, world, role, pod)
    phases = {pod["status"].get("phase") if pod is not None else None for pod in pods}
    if phases == {"Succeeded"}:
        return True
    if phases <= {"Running", "Succeeded"}:
        _check_shared(plan, world, [pod for pod in pods if pod is not None])
    return False


def _check_shared(plan: Plan, world: Observed, pods: Sequence[Json]) -> None:
    # A file cannot come from a pod that does not run, so time counts from the later start.
    starts = [at for at in map(pod_state.started, pods) if at is not None]
    if starts and (world.at - max(starts)).total_seconds() > SHARING_PATIENCE:
        raise UserError(
            "EvidenceNotShared",
            "spec.evidence.claimName",
            f"claim {plan.spec.evidence.claim_name}: what one node wrote did not appear on another "
            f"within {SHARING_PATIENCE:.0f} s; {REMEDY}",
        )


def _judge_one(plan: Plan, world: Observed, role: str, pod: Json) -> None:
    status = pod.get("status", {})
    if _init_failed(pod):
        if role == "write":
            raise UserError(
                "KafkaImageUnusable",
                "spec.kafka.image",
                f"{plan.images['kafka']} lacks /opt/kafka/libs/kafka_2*.jar, java or bash; use "
                "apache/kafka 3.9 or an image of its layout",
            )
        raise UserError(
            "ScoringImageUnusable",
            "chart value images.scoring",
            f"{plan.images['scoring']} does not carry the scoring package; use this release's",
        )
    code, told = pod_state.end(pod)
    claim = plan.spec.evidence.claim_name
    if code == NOT_WRITABLE:
        raise UserError(
            "EvidenceNotWritable",
            "spec.evidence.claimName",
            f"claim {claim}: {told}; let group 0 write to it, or set "
            "spec.podTemplate.securityContext.fsGroup to its group",
        )
    held = status.get("phase") not in {"Running", "Succeeded"}
    if held and pod_state.age(pod, world.at) > PREFLIGHT_PATIENCE:
        why = "; ".join(pod_state.obstacles([pod])) or told or "it has not started"
        raise UserError(
            "PreflightTimedOut",
            "spec.evidence.claimName",
            f"pod {pod['metadata']['name']} did not run with claim {claim} within "
            f"{PREFLIGHT_PATIENCE:.0f} s: {why}; two schedulable nodes and a claim that both can "
            "mount are needed",
        )


def _init_failed(pod: Json) -> bool:
    for one in pod.get("status", {}).get("initContainerStatuses") or []:
        ended = one.get("state", {}).get("terminated")
        if ended is not None and ended.get("exitCode") != 0:
            return True
    return False
