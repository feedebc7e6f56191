"""Pending: wait for a turn, find out what this cluster cannot give, write the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.labels import LABEL_TEST, LABEL_TEST_UID
from krt_operator import __version__, names
from krt_operator.api.status import ConditionStatus, ConditionType, Phase
from krt_operator.build.shared import build_plan_map
from krt_operator.constants import BUSY, QUEUED
from krt_operator.engine import journal
from krt_operator.engine.ports import Act, Happening, Progress
from krt_operator.errors import RefusedError, TransientError, UserError
from krt_operator.plan.feasibility import check
from krt_operator.plan.placement import assign, nodes_by_zone
from krt_operator.plan.planning import make_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.app.settings import Settings
    from krt_operator.engine.ports import (
        Change,
        Cluster,
        Json,
        Observed,
        Ports,
        Run,
    )
    from krt_operator.plan.plan import Plan

OWN_CLAIM: Final = "krt-evidence"
"""The claim that the controller makes where it is missing; any other must be there."""

LASTING: Final = ("Pod", "StatefulSet", "PersistentVolumeClaim", "ConfigMap", "Job", "Service")
"""Kinds of which a deleted namesake may have left something for the garbage collector."""


def step(run: Run, world: Observed, ports: Ports) -> Progress:
    """One look at the queue and the cluster; ends with the plan written and Provisioning entered.

    Raises:
        UserError: the cluster cannot give what the resource asks for.
    """
    before = ahead(ports.cluster.tests(), run)
    if before >= ports.settings.max_concurrent_tests:
        limit = ports.settings.max_concurrent_tests
        told = f"{before} ahead in the queue; at most {limit} at work at once"
        return _wait(world, "Queued", told, QUEUED)
    left = _leftovers(ports.cluster, run)
    if left:
        told = f"an earlier test of this name is still being removed: {left[0]}"
        return _wait(world, "PreviousTestTerminating", told, BUSY)
    plan = _plan(run, ports)
    return Progress(
        requeue_after=0,
        next_phase=Phase.PROVISIONING,
        changes=(
            journal.say(
                ConditionType.PROVISIONED,
                ConditionStatus.UNKNOWN,
                "Provisioning",
                "the plan is written",
                at=world.at,
            ),
        ),
        acts=(Act("write the plan", lambda ports: _write(plan, ports)),),
        events=(Happening("Planned", _in_words(plan)),),
    )


def ahead(tests: Sequence[Json], run: Run) -> int:
    """How many tests go before this one: those at work, and those that wait longer.

    The order is the same for every test that looks, so no two of them take the same place.
    """
    count = 0
    for test in tests:
        meta, phase = test["metadata"], (test.get("status") or {}).get("phase")
        if meta["uid"] == run.uid or (phase and Phase(phase).terminal):
            continue
        at_work = phase not in {None, "", Phase.PENDING.value}
        older = (meta["creationTimestamp"], meta["uid"]) < (
            run.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            run.uid,
        )
        count += at_work or older
    return count


def _wait(world: Observed, reason: str, told: str, seconds: float) -> Progress:
    said = journal.say(
        ConditionType.PROVISIONED, ConditionStatus.UNKNOWN, reason, told, at=world.at
    )
    return Progress(requeue_after=seconds, changes=(said,))


def _leftovers(cluster: Cluster, run: Run) -> list[str]:
    return [
        f"{kind} {one['metadata']['name']}"
        for kind in LASTING
        for one in cluster.list(kind, {LABEL_TEST: run.name})
        if one["metadata"]["labels"].get(LABEL_TEST_UID) != run.uid
    ]


def _plan(run: Run, ports: Ports) -> Plan:
    nodes: Sequence[Json] | None
    try:
        nodes = ports.cluster.list("Node")
    except RefusedError:
        # Not every installation lets the controller see nodes; then the resource names the zones.
        nodes = None
    zones = assign(run.spec, None if nodes is None else nodes_by_zone(nodes, run.spec))
    _check_storage(run, ports.cluster, ports.settings)
    versions = {"operator": __version__}
    if nodes:
        versions["kubernetes"] = nodes[0]["status"]["nodeInfo"]["kubeletVersion"]
    plan = make_plan(run, zones, ports.settings, versions)
    check(plan)
    return plan


def _check_storage(run: Run, cluster: Cluster, settings: Settings) -> None:
    for field, storage in (
        ("spec.kafka.storage.storageClassName", run.spec.kafka.storage),
        ("spec.zookeeper.storage.storageClassName", run.spec.zookeeper.storage),
    ):
        wanted = storage.storage_class_name
        if wanted and cluster.get("StorageClass", wanted) is None:
            raise UserError(
                "StorageClassMissing", field, f"there is no storage class {wanted}; name another"
            )
    name = run.spec.evidence.claim_name
    claim = cluster.get("PersistentVolumeClaim", name)
    if claim is not None:
        if "ReadWriteMany" not in claim["spec"].get("accessModes", []):
            raise UserError(
                "EvidenceNotShared",
                "spec.evidence.claimName",
                f"claim {name} is not ReadWriteMany, and pods on several nodes write evidence; "
                "name a claim of a class that can be shared (NFS, CephFS, EFS, Azure Files ...)",
            )
        return
    if name != OWN_CLAIM:
        raise UserError(
            "EvidenceClaimMissing",
            "spec.evidence.claimName",
            f"there is no claim {name} in namespace {run.namespace}; create it (ReadWriteMany), "
            f"or leave the field out for {OWN_CLAIM}, which is made for you",
        )
    if cluster.get("StorageClass", settings.evidence_storage_class) is None:
        raise UserError(
            "EvidenceStorageClassMissing",
            "spec.evidence.claimName",
            f"claim {name} is missing and cannot be made: there is no storage class "
            f"{settings.evidence_storage_class} (chart value evidence.storageClass); name a class "
            "that serves ReadWriteMany there, or create the claim yourself",
        )


def _write(plan: Plan, ports: Ports) -> Sequence[Change]:
    there = ports.cluster.create(build_plan_map(plan))
    if there["metadata"].get("labels", {}).get(LABEL_TEST_UID) != plan.uid:
        raise TransientError(
            f"ConfigMap {names.plan(plan.name)} is of another test of this name; waiting for its "
            "removal"
        )
    return ()


def _in_words(plan: Plan) -> str:
    where = ", ".join(f"{one.member} in {one.zone}" for one in plan.members)
    return f"{where}; seed {plan.spec.seed}"
