"""What pods, claims, Kafka's metadata and consumer groups show of a fault's effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.faults import IMPLIED, ObservationKind
from krt_contract.metadata import MetadataMode
from krt_operator.api.spec import Role
from krt_operator.api.status import Observation
from krt_operator.faults.kafka_state import group_of
from krt_operator.faults.partitions import target_partitions
from krt_operator.faults.verification import refused_evictions
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from krt_contract.members import Member
    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus, TargetPod
    from krt_operator.engine.progress import Observed
    from krt_operator.engine.views import Json
    from krt_operator.kafka.views import ClusterView, GroupView, Partition

MAX_ISR_OBSERVATIONS: Final = 8
"""Partitions of a fault that are named when their ISR shrank: enough to see which, and bounded in
status, however often the metadata is looked at."""

MOVED_ROLE: Final = {
    Role.CONTROLLER: ObservationKind.CONTROLLER_MOVED,
    Role.PARTITION_LEADER: ObservationKind.LEADER_MOVED,
    Role.GROUP_COORDINATOR: ObservationKind.COORDINATOR_MOVED,
}
"""A target's role to what is observed when another broker or controller takes it over."""


def observe_objects(
    fault: Fault, entry: FaultStatus, observed: Observed, now: datetime
) -> list[Observation]:
    """What the run's pods and claims show: deleted pods, lost and replaced volumes."""
    observations = _replaced_volumes(entry, observed.claims, now)
    if ObservationKind.POD_DELETED in IMPLIED[fault.action]:
        observations = _deleted_pods(entry, observed, now) + observations
    return observations


def _deleted_pods(entry: FaultStatus, observed: Observed, now: datetime) -> list[Observation]:
    return [
        Observation(
            kind=ObservationKind.POD_DELETED,
            subject=target.pod,
            at=now,
            detail=f"no pod with uid {target.uid}",
        )
        for target in entry.targets
        if observed.target_pod(target) is None and target.pod not in refused_evictions(entry)
    ]


def _replaced_volumes(
    entry: FaultStatus, claims: Mapping[str, Json], now: datetime
) -> list[Observation]:
    observations = []
    for target in entry.targets:
        uid = claims.get(target.claim, {}).get("metadata", {}).get("uid")
        if not target.claim or uid == target.claim_uid:
            continue
        details = {
            ObservationKind.VOLUME_GONE: f"no claim {target.claim} with uid {target.claim_uid}"
        }
        if uid is not None:
            details[ObservationKind.VOLUME_REPLACED] = (
                f"claim {target.claim} has uid {uid}, before {target.claim_uid}"
            )
        observations += [
            Observation(kind=kind, subject=target.pod, at=now, detail=detail)
            for kind, detail in details.items()
        ]
    return observations


def observe_cluster(
    fault: Fault, entry: FaultStatus, plan: Plan, view: ClusterView, now: datetime
) -> list[Observation]:
    """What the cluster's metadata shows of the brokers and controllers that were hit.

    The metadata lists the brokers that are alive: those with a ZooKeeper session, in KRaft mode
    those that are not fenced.
    """
    brokers = _hit_brokers(entry, plan)
    kind, state = _lost_broker(plan)
    observations = [
        Observation(kind=kind, subject=str(broker), at=now, detail=f"broker {broker} is {state}")
        for broker in sorted(brokers - view.broker_ids)
    ]
    named = {seen.subject for seen in entry.observations if seen.kind is ObservationKind.ISR_SHRANK}
    shrunk = [
        partition
        for partition in view.partitions
        if partition.name not in named and brokers & set(partition.replicas) - set(partition.isr)
    ]
    observations += [
        Observation(
            kind=ObservationKind.ISR_SHRANK,
            subject=partition.name,
            at=now,
            detail=_replication(partition),
        )
        for partition in sorted(shrunk, key=_is_internal)[
            : max(0, MAX_ISR_OBSERVATIONS - len(named))
        ]
    ]
    target = fault.target
    hit = _hit_nodes(entry, plan)
    if target.role is Role.CONTROLLER and view.controller not in hit | {NO_BROKER}:
        detail = _controller(view)
        observations.append(_moved(ObservationKind.CONTROLLER_MOVED, hit, now, detail))
    if target.role is Role.PARTITION_LEADER and target.topic and target.partition is not None:
        partition = view.partition(target.topic, target.partition)
        if partition is not None and partition.leader not in brokers | {NO_BROKER}:
            observations.append(
                Observation(
                    kind=ObservationKind.LEADER_MOVED,
                    subject=partition.name,
                    at=now,
                    detail=f"from broker {min(brokers)} to {partition.leader}",
                )
            )
    return observations


def observe_partitions(
    fault: Fault, plan: Plan, view: ClusterView, now: datetime
) -> list[Observation]:
    """What the metadata shows of the partitions that are a fault's targets."""
    observations = []
    implied = IMPLIED[fault.action]
    for topic, number in (
        target_partitions(fault, plan) if fault.target.role is Role.PARTITION else ()
    ):
        partition = view.partition(topic, number)
        if partition is None:
            continue
        replicas = list(partition.replicas)
        found = {}
        if set(replicas) == set(fault.target_replicas):
            found[ObservationKind.REPLICAS_MOVED] = f"its replicas are {replicas}"
        if partition.leader == replicas[0]:
            found[ObservationKind.PREFERRED_LEADER_ELECTED] = (
                f"broker {partition.leader} leads, the first of its replicas {replicas}"
            )
        if set(partition.isr) < set(replicas):
            found[ObservationKind.ISR_SHRANK] = _replication(partition)
        observations += [
            Observation(kind=kind, subject=partition.name, at=now, detail=detail)
            for kind, detail in found.items()
            if kind in implied
        ]
    return observations


def observe_coordinator(
    fault: Fault, entry: FaultStatus, plan: Plan, group: GroupView, now: datetime
) -> list[Observation]:
    """What a consumer group shows of its coordinator, where that was hit."""
    brokers = _hit_brokers(entry, plan)
    is_target = targets_coordinator(fault) and group.group == group_of(fault.target, plan)
    if not is_target or group.coordinator in brokers | {NO_BROKER}:
        return []
    detail = f"group {group.group} is coordinated by broker {group.coordinator}"
    return [_moved(ObservationKind.COORDINATOR_MOVED, brokers, now, detail)]


def observe_group_members(
    entry: FaultStatus, plan: Plan, group: GroupView, now: datetime
) -> list[Observation]:
    """Consumers whose address has left the group: killed, or frozen longer than their session.

    A replacement pod has another address, so it does not hide that the member left.
    """
    addresses = {member.host for member in group.members}
    return [
        Observation(
            kind=ObservationKind.MEMBER_LEFT,
            subject=target.pod,
            at=now,
            detail=f"group {group.group} has no member at {target.ip}",
        )
        for target in entry.targets
        if target.ip and _consumer_group(target, plan) == group.group
        if target.ip not in addresses
    ]


def needs_cluster(fault: Fault, entry: FaultStatus, plan: Plan) -> bool:
    """Whether the cluster's metadata could still show something new about this fault."""
    if fault.target.role is Role.PARTITION:
        return not entry.verified
    if not _hit_nodes(entry, plan):
        return False
    kind, _ = _lost_broker(plan)
    seen = {(observation.kind, observation.subject) for observation in entry.observations}
    if any((kind, str(broker)) not in seen for broker in _hit_brokers(entry, plan)):
        return True
    moved = MOVED_ROLE.get(fault.target.role)
    return moved is not None and moved not in {kind for kind, _ in seen}


def needs_groups(entry: FaultStatus, plan: Plan) -> list[str]:
    """Consumer groups that could still show that a target left them."""
    seen = {(observation.kind, observation.subject) for observation in entry.observations}
    groups = {
        _consumer_group(target, plan)
        for target in entry.targets
        if target.ip and (ObservationKind.MEMBER_LEFT, target.pod) not in seen
    }
    return sorted(groups - {""})


def targets_coordinator(fault: Fault) -> bool:
    """Whether the fault hits the coordinator of a consumer group."""
    return fault.target.role is Role.GROUP_COORDINATOR


def _consumer_group(target: TargetPod, plan: Plan) -> str:
    """The group of a consumer; empty for any other target."""
    entry = target.member.removeprefix("consumer-").rpartition("-")[0]
    if not target.member.startswith("consumer-"):
        return ""
    consumers = plan.spec.traffic.consumers
    return next((consumer.group for consumer in consumers if consumer.name == entry), "")


def _replication(partition: Partition) -> str:
    return f"replicas {list(partition.replicas)}, in sync {list(partition.isr)}"


def _is_internal(partition: Partition) -> bool:
    return partition.topic.startswith("__")


def _lost_broker(plan: Plan) -> tuple[ObservationKind, str]:
    """What is observed of a broker that the metadata does not list, and how its state is called."""
    if plan.metadata.mode is MetadataMode.KRAFT:
        return ObservationKind.BROKER_FENCED, "fenced"
    return ObservationKind.SESSION_EXPIRED, "not registered"


def _controller(view: ClusterView) -> str:
    if view.quorum is None:
        return f"the controller is broker {view.controller}"
    return f"node {view.controller} leads the quorum in epoch {view.quorum.epoch}"


def _hit_brokers(entry: FaultStatus, plan: Plan) -> frozenset[int]:
    if plan.metadata.referenced:
        # The plan has no members of somebody else's cluster.
        return frozenset(entry.referenced_brokers)
    return _node_ids(entry, plan.brokers)


def _hit_nodes(entry: FaultStatus, plan: Plan) -> frozenset[int]:
    """Brokers and KRaft controllers; their node ids differ."""
    return _hit_brokers(entry, plan) | _node_ids(entry, plan.controllers)


def _node_ids(entry: FaultStatus, members: Iterable[Member]) -> frozenset[int]:
    refused = refused_evictions(entry)
    hit = {target.member for target in entry.targets if target.pod not in refused}
    return frozenset(member.node_id for member in members if member.member in hit)


def _moved(kind: ObservationKind, nodes: frozenset[int], now: datetime, detail: str) -> Observation:
    return Observation(kind=kind, subject=str(min(nodes)), at=now, detail=detail)
