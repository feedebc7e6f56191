"""Preflight: the place of the evidence, the images, and the settings of the Kafka clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.exits import TrafficExit
from krt_contract.kafka_security import FIELD as SECURITY
from krt_operator import names
from krt_operator.build.shared import PREFLIGHT_ROLES, WITHOUT_ZOOKEEPER
from krt_operator.constants import PREFLIGHT_PATIENCE, SHARING_PATIENCE, UNKNOWN_CLASS_PATIENCE
from krt_operator.errors import RefusedError, UserError
from krt_operator.health import pod_state

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.plan import Plan
    from krt_operator.engine.ports import Cluster
    from krt_operator.engine.progress import Observed
    from krt_operator.engine.views import ContainerView, Json, PodView

NOT_WRITABLE: Final = 6
"""Exit code of preflight.sh."""

SERVERS: Final = "spec.kafkaRef.bootstrapServers"
"""The field that a pod names that did not reach a broker."""

REMEDY: Final = (
    "use an object store (spec.evidence.objectStore), or name a claim of a class that serves "
    "ReadWriteMany to all nodes (NFS, CephFS, EFS, Azure Files; on kind the class krt-evidence "
    "that hack/up makes)"
)

WRITABLE_REMEDY: Final = (
    "let group 0 write to it, or set spec.podTemplate.securityContext.fsGroup to its group"
)

STORE_REMEDY: Final = (
    "check that the store runs and that the bucket exists, and endpoint, region, keys and ca in "
    "spec.evidence.objectStore or the chart value evidence.objectStore"
)


def unbound_claim(plan: Plan, cluster: Cluster, since: datetime, at: datetime) -> str:
    """Why no pod may mount the evidence claim yet; empty where pods may, or there is none.

    The scheduler puts a pod aside whose claim is not bound, and tries it again when the claim
    changes. It may miss a change that comes during the try, and the pod then waits for the five
    minutes of `podMaxInUnschedulablePodsDuration` (seen with Kubernetes 1.34: one of two pods
    created together with their claim). A claim whose class waits for its first consumer is bound
    because a pod uses it, so such a claim is not waited for; where the controller may not read
    the class, for UNKNOWN_CLASS_PATIENCE only.

    Args:
        plan: names the claim.
        cluster: to read the claim and its class.
        since: when the wait began.
        at: now.

    Raises:
        UserError: EvidenceNotBound.
    """
    name = plan.spec.evidence.claim_name
    if name is None:
        return ""
    claim = cluster.get("PersistentVolumeClaim", name)
    phase = "missing" if claim is None else claim.get("status", {}).get("phase", "Pending")
    waited = (at - since).total_seconds()
    if phase == "Bound" or (claim is not None and _waits_for_consumer(cluster, claim, waited)):
        return ""
    if phase == "Lost" or waited > PREFLIGHT_PATIENCE:
        raise UserError(
            "EvidenceNotBound",
            "spec.evidence.claimName",
            f"claim {name} is {phase} after {waited:.0f} s; `kubectl describe pvc {name} "
            f"-n {plan.namespace}` shows what its class or volume lacks",
        )
    return f"claim {name} is {phase}; waiting until it is bound"


def _waits_for_consumer(cluster: Cluster, claim: Json, waited: float) -> bool:
    name = claim["spec"].get("storageClassName")
    try:
        storage_class = cluster.get("StorageClass", name) if name else None
    except RefusedError:
        return claim.get("status", {}).get("phase") != "Lost" and waited > UNKNOWN_CLASS_PATIENCE
    return (
        storage_class is not None
        and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
    )


def passed(plan: Plan, observed: Observed) -> bool:
    """Whether both preflight pods have succeeded; False while they run.

    Raises:
        UserError: EvidenceNotShared, EvidenceNotWritable, KafkaImageUnusable,
            KafkaWithoutZooKeeper, ScoringImageUnusable, TrafficImageUnusable,
            ClientSettingsRefused, KafkaUnreachable, KafkaAuthenticationFailed, or
            PreflightTimedOut.
    """
    pods = {role: observed.pod(names.preflight_pod(plan.name, role)) for role in PREFLIGHT_ROLES}
    for role, pod in pods.items():
        if pod is not None:
            _check_pod(plan, observed, role, pod)
    phases = {None if pod is None else pod.phase for pod in pods.values()}
    if phases == {"Succeeded"}:
        return True
    if phases <= {"Running", "Succeeded"}:
        _check_shared(plan, observed, [pod for pod in pods.values() if pod is not None])
    return False


def _check_shared(plan: Plan, observed: Observed, pods: Sequence[PodView]) -> None:
    # A pod writes its file when it runs, so the time counts from the later start.
    evidence = plan.spec.evidence
    starts = [pod.started for pod in pods if pod.started is not None]
    if starts and (observed.at - max(starts)).total_seconds() > SHARING_PATIENCE:
        raise UserError(
            "EvidenceNotShared",
            evidence.field,
            f"{evidence.place}: what one node wrote did not appear on another within "
            f"{SHARING_PATIENCE:.0f} s; {REMEDY if evidence.store is None else STORE_REMEDY}",
        )


def _check_pod(plan: Plan, observed: Observed, role: str, pod: PodView) -> None:
    for container in pod.init_containers:
        if container.exit_code:
            raise _unusable(plan, role, container)
    evidence = plan.spec.evidence
    if pod.exit_code == NOT_WRITABLE:
        raise UserError(
            "EvidenceNotWritable",
            evidence.field,
            f"{evidence.place}: {pod.message}; "
            + (WRITABLE_REMEDY if evidence.store is None else STORE_REMEDY),
        )
    waits = pod.phase not in {"Running", "Succeeded"}
    if waits and pod.age(observed.at) > PREFLIGHT_PATIENCE:
        cause = "; ".join(pod_state.obstacles([pod])) or pod.message or "it has not started"
        raise UserError(
            "PreflightTimedOut",
            evidence.field,
            f"pod {pod.name} did not run with {evidence.place} within {PREFLIGHT_PATIENCE:.0f} s: "
            f"{cause}; provide two schedulable nodes, and "
            + (
                "a claim that both can mount"
                if evidence.store is None
                else "the Secret with the keys of the object store, and what its ca names"
            ),
        )


def _unusable(plan: Plan, role: str, container: ContainerView) -> UserError:
    """What a failed check of an image or of the clients' settings says."""
    end = pod_state.end_of(container)
    if container.name == "clients":
        report = pod_state.message_json(container.message)
        if container.exit_code == TrafficExit.UNUSABLE and report.get("field"):
            field = str(report["field"])
            reason = (
                "KafkaUnreachable"
                if field == SERVERS
                else "KafkaAuthenticationFailed"
                if field.startswith(SECURITY)
                else "ClientSettingsRefused"
            )
            return UserError(reason, field, str(report.get("error") or ""))
        return UserError(
            "TrafficImageUnusable",
            "chart value images.traffic",
            f"{plan.images['traffic']} cannot check the clients' settings "
            f"({end}); use the traffic image of this release",
        )
    if role == "write" and container.exit_code == WITHOUT_ZOOKEEPER:
        return UserError(
            "KafkaWithoutZooKeeper",
            "spec.kafka.metadata.mode",
            f"{plan.images['kafka']} has no ZooKeeper: it is Kafka 4 or later; set "
            "spec.kafka.metadata.mode to KRaft, or spec.kafka.image to Kafka 3.9",
        )
    if role == "write":
        return UserError(
            "KafkaImageUnusable",
            "spec.kafka.image",
            f"{plan.images['kafka']} did not pass the check for /opt/kafka/libs/kafka_2*.jar, java "
            f"and bash ({end}); use apache/kafka 3.9 or later, or an image of its layout",
        )
    return UserError(
        "ScoringImageUnusable",
        "chart value images.scoring",
        f"{plan.images['scoring']} did not pass the check for the scoring package ({end}); use the "
        "scoring image of this release",
    )
