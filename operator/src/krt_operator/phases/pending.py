"""Pending: wait in the queue, check what the cluster can provide, write the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.bundle import DEFAULT_CLAIM
from krt_contract.labels import LABEL_TEST, LABEL_TEST_UID
from krt_operator import __version__
from krt_operator.api.status import ConditionStatus, ConditionType, Phase
from krt_operator.build.cluster_secrets import build_cluster_secrets
from krt_operator.build.evidence import (
    build_evidence_account,
    build_store_ca,
    build_store_secret,
)
from krt_operator.build.network_policies import build_network_policies
from krt_operator.build.shared import build_plan_map
from krt_operator.constants import BUSY, QUEUED_FAR_BACK, QUEUED_PAUSE
from krt_operator.engine import journal
from krt_operator.engine.progress import Event, Progress, SideEffect
from krt_operator.engine.reading import CHILDREN, built_kinds
from krt_operator.engine.views import ObjectView
from krt_operator.errors import RefusedError, TransientError, UserError
from krt_operator.phases.broker_pods import check_broker_pods
from krt_operator.phases.reference import read_reference
from krt_operator.plan.capacity import Hold, slow_test, strained_nodes
from krt_operator.plan.evidence_place import resolve, uses_chart_store
from krt_operator.plan.feasibility import check
from krt_operator.plan.placement import assign, nodes_by_zone
from krt_operator.plan.planning import make_plan
from krt_operator.plan.queue import QUEUED, Limits, Queue
from krt_operator.plan.reference import check_reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Spec
    from krt_operator.app.settings import Settings
    from krt_operator.engine.ports import Cluster, Ports
    from krt_operator.engine.progress import Change, Observed, Run
    from krt_operator.engine.views import Json

OWN_CLAIM: Final = DEFAULT_CLAIM
"""The claim that the controller creates where it is missing; any other must exist."""


def step(run: Run, observed: Observed, ports: Ports) -> Progress:
    """Check the queue and the cluster; the last step writes the plan and enters Provisioning.

    Raises:
        UserError: the cluster cannot provide what the resource asks for.
    """
    settings = ports.settings
    tests = ports.cluster.tests()
    limits = Limits(
        settings.max_concurrent_tests,
        settings.max_concurrent_tests_per_namespace,
        settings.max_starting_tests,
    )
    queue = Queue(tests, run, limits)
    if queue.obstacle:
        # The further back, the less often: every look lists all tests.
        behind = max(queue.ahead - settings.max_concurrent_tests, 0)
        delay = min(QUEUED_PAUSE * (behind + 1), QUEUED_FAR_BACK)
        return _wait(observed, QUEUED, queue.obstacle, delay)
    hold = slow_test(tests, run.uid)
    if hold is None and queue.others_starting:
        hold = Hold(QUEUED, queue.others_starting)
    if hold is not None:
        return _wait(observed, hold.reason, hold.message, QUEUED_PAUSE)
    left = _leftovers(ports, run)
    if left:
        message = f"objects of the previous test of this name are being deleted: {left[0]}"
        return _wait(observed, "PreviousTestTerminating", message, BUSY)
    nodes = _nodes(ports.cluster)
    if nodes is not None and run.spec.kafka_ref is None:
        hold = strained_nodes(nodes, run.spec)
        if hold is not None:
            return _wait(observed, hold.reason, hold.message, QUEUED_PAUSE)
    plan = _plan(run, ports, nodes)
    in_chart_store = uses_chart_store(run.spec.evidence, settings)
    return Progress(
        requeue_after=0,
        next_phase=Phase.PROVISIONING,
        changes=(
            journal.set_condition(
                ConditionType.PROVISIONED,
                ConditionStatus.UNKNOWN,
                "Provisioning",
                "the plan is written",
                at=observed.at,
            ),
        ),
        side_effects=(
            SideEffect(
                "write the plan", lambda at: _write(plan, at, in_chart_store=in_chart_store)
            ),
        ),
        events=(Event("Planned", _placement(plan)),),
    )


def _wait(observed: Observed, reason: str, message: str, seconds: float) -> Progress:
    condition = journal.set_condition(
        ConditionType.PROVISIONED, ConditionStatus.UNKNOWN, reason, message, at=observed.at
    )
    return Progress(requeue_after=seconds, changes=(condition,))


def _leftovers(ports: Ports, run: Run) -> list[str]:
    """What a deleted test of the same name has left to the garbage collector."""
    return [
        f"{kind} {obj['metadata']['name']}"
        for kind in (*CHILDREN, *built_kinds(ports.settings))
        for obj in ports.cluster.list(kind, {LABEL_TEST: run.name})
        if obj["metadata"]["labels"].get(LABEL_TEST_UID) != run.uid
    ]


def _nodes(cluster: Cluster) -> Sequence[Json] | None:
    """All nodes; None where the controller may not list them: the resource names the zones."""
    try:
        return cluster.list("Node")
    except RefusedError:
        return None


def _plan(run: Run, ports: Ports, nodes: Sequence[Json] | None) -> Plan:
    reference = read_reference(run.spec, ports)
    if reference is None:
        zones = assign(run.spec, None if nodes is None else nodes_by_zone(nodes, run.spec))
        _check_member_storage(run.spec, ports.cluster)
    else:
        zones = [], []
        check_reference(run.spec, reference)
        check_broker_pods(run.spec, run.namespace, reference, ports)
    _check_evidence(run, ports.cluster, ports.settings)
    versions = {"operator": __version__}
    if nodes:
        versions["kubernetes"] = nodes[0]["status"]["nodeInfo"]["kubeletVersion"]
    plan = make_plan(run, zones, ports.settings, versions, reference)
    check(plan)
    return plan


def _is_missing(cluster: Cluster, storage_class: str) -> bool:
    try:
        return cluster.get("StorageClass", storage_class) is None
    except RefusedError:
        # In some installations the controller may not read storage classes. Claims of a class that
        # does not exist then stay Pending, and a deadline tells it.
        return False


def _check_member_storage(spec: Spec, cluster: Cluster) -> None:
    for field, storage in (
        ("spec.kafka.storage.storageClassName", spec.kafka.storage),
        (f"{spec.ensemble_field}.storage.storageClassName", spec.ensemble.storage),
    ):
        name = storage.storage_class_name
        if name and _is_missing(cluster, name):
            raise UserError(
                "StorageClassMissing",
                field,
                f"storage class {name} does not exist; create it or name another",
            )


def _check_evidence(run: Run, cluster: Cluster, settings: Settings) -> None:
    name = resolve(run, settings).claim_name
    if name is None:
        # An object store, which the preflight tries.
        return
    claim = cluster.get("PersistentVolumeClaim", name)
    if claim is not None:
        if "ReadWriteMany" not in claim["spec"].get("accessModes", []):
            raise UserError(
                "EvidenceNotShared",
                "spec.evidence.claimName",
                f"claim {name} is not ReadWriteMany, but pods on several nodes write evidence; "
                "name a claim of a class that can be shared (NFS, CephFS, EFS, Azure Files), or "
                "use an object store (spec.evidence.objectStore)",
            )
        return
    if name != OWN_CLAIM:
        raise UserError(
            "EvidenceClaimMissing",
            "spec.evidence.claimName",
            f"claim {name} does not exist in namespace {run.namespace}; create it (ReadWriteMany), "
            f"or leave the field out: the controller then creates {OWN_CLAIM}",
        )
    if _is_missing(cluster, settings.evidence_storage_class):
        raise UserError(
            "EvidenceStorageClassMissing",
            "spec.evidence.claimName",
            f"claim {name} is missing and cannot be created, because storage class "
            f"{settings.evidence_storage_class} does not exist; set the chart value "
            "evidence.storageClass to a class that serves ReadWriteMany, or create the claim "
            "yourself, or use an object store (spec.evidence.objectStore)",
        )


def _write(plan: Plan, ports: Ports, *, in_chart_store: bool) -> Sequence[Change]:
    stored = ObjectView(ports.cluster.create(build_plan_map(plan)))
    if stored.labels.get(LABEL_TEST_UID) != plan.uid:
        raise TransientError(
            f"ConfigMap {stored.name} belongs to another test of this name; waiting until it is "
            "deleted"
        )
    cluster, settings = ports.cluster, ports.settings
    # Before any pod: one without a policy takes every connection.
    for policy in build_network_policies(plan, settings):
        cluster.apply(policy)
    # Before the first pod that needs them: one that waits for a Secret is tried again late, and a
    # cloud provider changes a pod only if it knows the annotations of its account by then.
    if plan.spec.kafka.security is not None:
        for secret in build_cluster_secrets(plan, ports.credentials(plan)):
            cluster.create_unread(secret)
    if in_chart_store and settings.store_access_key:
        cluster.create_unread(build_store_secret(plan, settings))
    if in_chart_store and settings.store_ca_file:
        cluster.apply(build_store_ca(plan, settings))
    if plan.spec.evidence.by_identity:
        cluster.apply(build_evidence_account(plan, settings.test_account_annotations))
    return ()


def _placement(plan: Plan) -> str:
    if plan.metadata.referenced:
        return f"the cluster at {plan.bootstrap}; seed {plan.spec.seed}"
    where = ", ".join(f"{member.member} in {member.zone}" for member in plan.members)
    return f"{where}; seed {plan.spec.seed}"
