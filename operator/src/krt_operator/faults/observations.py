"""Observation of effect: what was seen that shows a fault did what its action implies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract.faults import IMPLIED, Action, ObservationKind
from krt_operator.api.spec import Role
from krt_operator.api.status import Observation
from krt_operator.faults.hold import refused
from krt_operator.faults.kafka_state import group_of
from krt_operator.faults.partitions import meant, named
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus, TargetPod
    from krt_operator.engine.views import Json
    from krt_operator.kafka.views import ClusterView, GroupView, Partition
    from krt_operator.plan.plan import Plan


@dataclass(frozen=True)
class Verification:
    """Whether a fault had the effect that its action implies, and what shows it.

    The fields are named as those of the fault's status, which they replace.
    """

    verified: bool
    observations: tuple[Observation, ...]


MAX_ISR_PROOFS: Final = 8
"""Partitions named whose ISR shrank: enough to see which, bounded in status."""


def gone(entry: FaultStatus, pods: Mapping[str, Json], now: datetime) -> list[Observation]:
    """Targets whose pod is no longer there under the uid in the journal."""
    return [
        Observation(
            kind=ObservationKind.POD_DELETED,
            subject=target.pod,
            at=now,
            detail=f"uid {target.uid} is no longer there",
        )
        for target in entry.targets
        if pods.get(target.pod, {}).get("metadata", {}).get("uid") != target.uid
        and target.pod not in refused(entry)
    ]


def volumes(entry: FaultStatus, claims: Mapping[str, Json], now: datetime) -> list[Observation]:
    """What became of the claims in the journal: gone, and another in their place."""
    found = []
    for target in entry.targets:
        uid = claims.get(target.claim, {}).get("metadata", {}).get("uid")
        if not target.claim or uid == target.claim_uid:
            continue
        gone = f"claim {target.claim} with uid {target.claim_uid} is no longer there"
        found.append(
            Observation(kind=ObservationKind.VOLUME_GONE, subject=target.pod, at=now, detail=gone)
        )
        if uid is not None:
            other = f"claim {target.claim} has uid {uid}, before {target.claim_uid}"
            found.append(
                Observation(
                    kind=ObservationKind.VOLUME_REPLACED, subject=target.pod, at=now, detail=other
                )
            )
    return found


def in_cluster(
    fault: Fault, entry: FaultStatus, plan: Plan, view: ClusterView, now: datetime
) -> list[Observation]:
    """What the cluster's metadata shows of brokers that fell.

    A broker missing from the metadata has lost its ZooKeeper session: Kafka's list of live
    brokers is the list of its registered ones.
    """
    fallen = _ordinals(entry, plan)
    observations = [
        Observation(
            kind=ObservationKind.SESSION_EXPIRED,
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
    observations += [
        Observation(
            kind=ObservationKind.ISR_SHRANK,
            subject=partition.name,
            at=now,
            detail=f"replicas {list(partition.replicas)}, in sync {list(partition.isr)}",
        )
        for partition in sorted(shrunk, key=_internal)[:MAX_ISR_PROOFS]
    ]
    target = fault.target
    if target.role is Role.CONTROLLER and view.controller not in fallen | {NO_BROKER}:
        detail = f"the controller is broker {view.controller}"
        observations.append(_moved(ObservationKind.CONTROLLER_MOVED, fallen, now, detail))
    if target.role is Role.PARTITION_LEADER and target.topic and target.partition is not None:
        found = view.partition(target.topic, target.partition)
        if found is not None and found.leader not in fallen | {NO_BROKER}:
            observations.append(
                Observation(
                    kind=ObservationKind.LEADER_MOVED,
                    subject=found.name,
                    at=now,
                    detail=f"from broker {min(fallen)} to {found.leader}",
                )
            )
    return observations


def in_group(
    fault: Fault, entry: FaultStatus, plan: Plan, group: GroupView, now: datetime
) -> list[Observation]:
    """What a consumer group shows of a coordinator that fell."""
    fallen = _ordinals(entry, plan)
    meant = asks_group(fault) and group.group == group_of(fault.target, plan)
    if not meant or group.coordinator in fallen | {NO_BROKER}:
        return []
    detail = f"group {group.group} is coordinated by broker {group.coordinator}"
    return [_moved(ObservationKind.COORDINATOR_MOVED, fallen, now, detail)]


def asks_group(fault: Fault) -> bool:
    """Whether a consumer group's coordinator shows the fault's effect."""
    return fault.target.role is Role.GROUP_COORDINATOR


def of_partitions(fault: Fault, plan: Plan, view: ClusterView, now: datetime) -> list[Observation]:
    """What the metadata shows of the partitions that a fault moves or elects leaders for."""
    found = []
    for topic, number in meant(fault, plan) if fault.target.role is Role.PARTITION else ():
        seen = view.partition(topic, number)
        if seen is None:
            continue
        replicas = list(seen.replicas)
        if fault.action is Action.REASSIGN and set(replicas) == set(fault.target_replicas):
            kind, detail = ObservationKind.REPLICAS_MOVED, f"its replicas are {replicas}"
        elif fault.action is Action.ELECT_PREFERRED_LEADERS and seen.leader == replicas[0]:
            first = f"the first of its replicas {replicas}"
            kind, detail = (
                ObservationKind.PREFERRED_LEADER_ELECTED,
                f"broker {seen.leader} leads, {first}",
            )
        else:
            continue
        found.append(Observation(kind=kind, subject=seen.name, at=now, detail=detail))
    return found


def members_left(
    entry: FaultStatus, plan: Plan, group: GroupView, now: datetime
) -> list[Observation]:
    """Consumers whose address the group no longer has: killed ones, or frozen past their session.

    A pod that follows has another address, so a successor does not hide that a member left.
    """
    addresses = {one.host for one in group.members}
    return [
        Observation(
            kind=ObservationKind.MEMBER_LEFT,
            subject=target.pod,
            at=now,
            detail=f"group {group.group} has no member at {target.ip}",
        )
        for target in entry.targets
        if target.ip and _group_of(target, plan) == group.group and target.ip not in addresses
    ]


def groups_asked(entry: FaultStatus, plan: Plan) -> list[str]:
    """Groups that could still show that a target left them."""
    seen = {(one.kind, one.subject) for one in entry.observations}
    waiting = {
        _group_of(target, plan)
        for target in entry.targets
        if target.ip and (ObservationKind.MEMBER_LEFT, target.pod) not in seen
    }
    return sorted(waiting - {""})


def merge(
    fault: Fault, entry: FaultStatus, plan: Plan, seen: Iterable[Observation]
) -> Verification:
    """Add observations to those in the journal; the first observation of each kind and subject stays."""
    known = {(one.kind, one.subject): one for one in entry.observations}
    for one in seen:
        known.setdefault((one.kind, one.subject), one)
    implied = IMPLIED[fault.action]
    hit = subjects(fault, entry, plan)
    verified = bool(hit) and all(any((kind, one) in known for kind in implied) for one in hit)
    return Verification(verified=verified, observations=tuple(known.values()))


def subjects(fault: Fault, entry: FaultStatus, plan: Plan) -> list[str]:
    """Whom the fault hits, as its observations name them: pods, or partitions."""
    if fault.target.role is Role.PARTITION:
        return named(fault, plan)
    return [one.pod for one in entry.targets]


def wanted(fault: Fault, entry: FaultStatus, plan: Plan) -> bool:
    """Whether the cluster's metadata could still show something about this fault."""
    if fault.target.role is Role.PARTITION:
        return not entry.verified
    seen = {(one.kind, one.subject) for one in entry.observations}
    kinds = {kind for kind, _ in seen}
    brokers = _ordinals(entry, plan)
    if not brokers:
        return False
    if any((ObservationKind.SESSION_EXPIRED, str(broker)) not in seen for broker in brokers):
        return True
    extra = {
        Role.CONTROLLER: ObservationKind.CONTROLLER_MOVED,
        Role.PARTITION_LEADER: ObservationKind.LEADER_MOVED,
        Role.GROUP_COORDINATOR: ObservationKind.COORDINATOR_MOVED,
    }.get(fault.target.role)
    return extra is not None and extra not in kinds


def _group_of(target: TargetPod, plan: Plan) -> str:
    """The group of a consumer; empty for any other target."""
    entry = target.member.removeprefix("consumer-").rpartition("-")[0]
    if not target.member.startswith("consumer-"):
        return ""
    return next((one.group for one in plan.spec.traffic.consumers if one.name == entry), "")


def _internal(partition: Partition) -> bool:
    return partition.topic.startswith("__")


def _ordinals(entry: FaultStatus, plan: Plan) -> frozenset[int]:
    hit = {target.member for target in entry.targets if target.pod not in refused(entry)}
    return frozenset(one.ordinal for one in plan.brokers if one.member in hit)


def _moved(
    kind: ObservationKind, fallen: frozenset[int], now: datetime, detail: str
) -> Observation:
    return Observation(kind=kind, subject=str(min(fallen)), at=now, detail=detail)
