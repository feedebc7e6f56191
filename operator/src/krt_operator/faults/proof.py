"""Proof of effect: what was seen that shows a fault did what its action implies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_operator.api.spec import Action, Role
from krt_operator.api.status import Effect, Proof, ProofKind
from krt_operator.faults.hold import refused
from krt_operator.faults.looking import group_of
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus
    from krt_operator.kafka.views import ClusterView, GroupView, Partition
    from krt_operator.plan import Plan
    from krt_operator.ports import Json

IMPLIED: Final[Mapping[Action, frozenset[ProofKind]]] = {
    Action.DELETE_POD: frozenset({ProofKind.POD_GONE}),
    Action.CRASH_POD: frozenset({ProofKind.PROCESS_KILLED}),
    Action.FREEZE_POD: frozenset({ProofKind.PROCESS_STOPPED}),
    Action.EVICT_POD: frozenset({ProofKind.POD_GONE, ProofKind.EVICTION_REFUSED}),
}
"""Action to kinds of proof; one of them must have been seen of every target for the fault to count.
The scoring job has the same table, and a test compares them."""

MAX_ISR_PROOFS: Final = 8
"""Partitions named whose ISR shrank: enough to see which, bounded in status."""


def gone(entry: FaultStatus, pods: Mapping[str, Json], now: datetime) -> list[Proof]:
    """Targets whose pod is no longer there under the uid in the journal."""
    return [
        Proof(
            kind=ProofKind.POD_GONE,
            subject=target.pod,
            at=now,
            detail=f"uid {target.uid} is no longer there",
        )
        for target in entry.targets
        if pods.get(target.pod, {}).get("metadata", {}).get("uid") != target.uid
        and target.pod not in refused(entry)
    ]


def in_cluster(
    fault: Fault, entry: FaultStatus, plan: Plan, view: ClusterView, now: datetime
) -> list[Proof]:
    """What the cluster's metadata shows of brokers that fell.

    A broker missing from the metadata has lost its ZooKeeper session: Kafka's list of live
    brokers is the list of its registered ones.
    """
    fallen = _ordinals(entry, plan)
    proofs = [
        Proof(
            kind=ProofKind.SESSION_EXPIRED,
            subject=str(broker),
            at=now,
            detail=f"broker {broker} is not registered",
        )
        for broker in sorted(fallen - view.broker_ids)
    ]
    shrunk = [
        partition
        for partition in view.partitions
        if fallen & set(partition.replicas) - set(partition.isr)
    ]
    proofs += [
        Proof(
            kind=ProofKind.ISR_SHRANK,
            subject=partition.name,
            at=now,
            detail=f"replicas {list(partition.replicas)}, in sync {list(partition.isr)}",
        )
        for partition in sorted(shrunk, key=_internal)[:MAX_ISR_PROOFS]
    ]
    target = fault.target
    if target.role is Role.CONTROLLER and view.controller not in fallen | {NO_BROKER}:
        detail = f"the controller is broker {view.controller}"
        proofs.append(_moved(ProofKind.CONTROLLER_MOVED, fallen, now, detail))
    if target.role is Role.PARTITION_LEADER and target.topic and target.partition is not None:
        found = view.partition(target.topic, target.partition)
        if found is not None and found.leader not in fallen | {NO_BROKER}:
            proofs.append(
                Proof(
                    kind=ProofKind.LEADER_MOVED,
                    subject=found.name,
                    at=now,
                    detail=f"from broker {min(fallen)} to {found.leader}",
                )
            )
    return proofs


def in_group(
    fault: Fault, entry: FaultStatus, plan: Plan, group: GroupView, now: datetime
) -> list[Proof]:
    """What a consumer group shows of a coordinator that fell."""
    fallen = _ordinals(entry, plan)
    meant = asks_group(fault) and group.group == group_of(fault.target, plan)
    if not meant or group.coordinator in fallen | {NO_BROKER}:
        return []
    detail = f"group {group.group} is coordinated by broker {group.coordinator}"
    return [_moved(ProofKind.COORDINATOR_MOVED, fallen, now, detail)]


def asks_group(fault: Fault) -> bool:
    """Whether a consumer group's coordinator shows the fault's effect."""
    return fault.target.role is Role.GROUP_COORDINATOR


def merge(fault: Fault, entry: FaultStatus, seen: Iterable[Proof]) -> Effect:
    """Add what was seen to the journal's effect; the first sight of each thing stands."""
    known = {(one.kind, one.subject): one for one in (entry.effect.proofs if entry.effect else ())}
    for one in seen:
        known.setdefault((one.kind, one.subject), one)
    implied = IMPLIED[fault.action]
    proven = bool(entry.targets) and all(
        any((kind, target.pod) in known for kind in implied) for target in entry.targets
    )
    return Effect(proven=proven, proofs=tuple(known.values()))


def wanted(fault: Fault, entry: FaultStatus, plan: Plan) -> bool:
    """Whether the cluster's metadata could still show something about this fault."""
    seen = {(one.kind, one.subject) for one in (entry.effect.proofs if entry.effect else ())}
    kinds = {kind for kind, _ in seen}
    brokers = _ordinals(entry, plan)
    if not brokers:
        return False
    if any((ProofKind.SESSION_EXPIRED, str(broker)) not in seen for broker in brokers):
        return True
    extra = {
        Role.CONTROLLER: ProofKind.CONTROLLER_MOVED,
        Role.PARTITION_LEADER: ProofKind.LEADER_MOVED,
        Role.GROUP_COORDINATOR: ProofKind.COORDINATOR_MOVED,
    }.get(fault.target.role)
    return extra is not None and extra not in kinds


def _internal(partition: Partition) -> bool:
    return partition.topic.startswith("__")


def _ordinals(entry: FaultStatus, plan: Plan) -> frozenset[int]:
    hit = {target.member for target in entry.targets if target.pod not in refused(entry)}
    return frozenset(one.ordinal for one in plan.brokers if one.member in hit)


def _moved(kind: ProofKind, fallen: frozenset[int], now: datetime, detail: str) -> Proof:
    return Proof(kind=kind, subject=str(min(fallen)), at=now, detail=detail)
