"""Whom a fault hits: from the target's role to members to pods, chosen once and by the seed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from krt_contract.members import member_of
from krt_contract.metadata import MetadataMode
from krt_operator import names
from krt_operator.api.spec import Role
from krt_operator.api.status import TargetPod
from krt_operator.api.targets import BROKER_ROLES
from krt_operator.faults.action import UnresolvedTargetError
from krt_operator.faults.broker_pods import find_pod, target_of, why_not_hit
from krt_operator.faults.kafka_state import PARTITION_ROLES, KafkaState
from krt_operator.faults.registry import ACTIONS
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from krt_contract.members import Member
    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Fault
    from krt_operator.engine.progress import Observed
    from krt_operator.engine.views import Json


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member that a fault may hit, with the pod that runs it.

    The pod of a broker of `spec.kafkaRef` is found once it is chosen.
    """

    member: str
    pod: str = ""
    zone: str = ""

    def __str__(self) -> str:
        """The member's name, by which the seed ranks it."""
        return self.member


_T = TypeVar("_T", str, Candidate)


def resolve_targets(  # noqa: PLR0913, PLR0917 - all that decides whom a fault hits
    fault: Fault,
    plan: Plan,
    observed: Observed,
    state: KafkaState,
    under_fault: Mapping[str, str],
    addresses: Callable[[str], frozenset[str]],
) -> tuple[TargetPod, ...]:
    """Choose the pods that a fault hits.

    The choice depends only on the seed, the fault's name and the candidates. It is made once and
    then kept in the journal.

    Args:
        fault: the fault that is due.
        plan: members and traffic of the run.
        observed: the run's pods and claims.
        state: what Kafka, ZooKeeper or the controllers answered, see `read_kafka_state`.
        under_fault: members that another open fault hits, with its name.
        addresses: resolves a host that a broker of `spec.kafkaRef` advertises.

    Returns:
        The pods; none for an action on partitions.

    Raises:
        UnresolvedTargetError: there is no leader now, no such member, or other faults hit them all.
        TransientError: a host cannot be resolved now.
    """
    target = fault.target
    if target.role is Role.PARTITION:
        return ()
    candidates = find_candidates(fault, plan, state)
    free = [candidate for candidate in candidates if candidate.member not in under_fault]
    count = target_count(fault, candidates)
    if len(free) < count:
        members = {candidate.member for candidate in candidates}
        faults = sorted({under_fault[member] for member in members & under_fault.keys()})
        under = f", {len(candidates) - len(free)} under {', '.join(faults)}" if faults else ""
        raise UnresolvedTargetError(
            f"{target.role} asks for {count}, there are {len(candidates)}{under}"
        )
    chosen = choose_by_seed(free, count, plan.spec.seed, fault.name)
    if plan.metadata.referenced and target.role in BROKER_ROLES:
        targets = tuple(
            _broker_pod(candidate, fault, plan, observed, state, addresses) for candidate in chosen
        )
    else:
        targets = tuple(_target_pod(candidate, target.role, observed.pods) for candidate in chosen)
    return ACTIONS[fault.action].resolve(targets, plan, observed)


def target_count(fault: Fault, candidates: Sequence[Candidate]) -> int:
    """How many of the candidates are to be hit."""
    target = fault.target
    count = target.count or len(target.ordinals)
    if count:
        return count
    hits_all = target.role is Role.RACK or ACTIONS[fault.action].hits_all
    return len(candidates) if hits_all else 1


def find_candidates(fault: Fault, plan: Plan, state: KafkaState) -> list[Candidate]:
    """Every member that fits the target's role, whether another fault hits it or not.

    Raises:
        UnresolvedTargetError: no member has the role now.
    """
    target = fault.target
    match target.role:
        case Role.CONTROLLER if plan.metadata.mode is MetadataMode.KRAFT:
            found = _quorum_leader(plan, state)
        case Role.CONTROLLER:
            found = _brokers(plan, state, _brokers_by_metadata(fault, plan, state))
        case role if role in PARTITION_ROLES:
            found = _brokers(plan, state, _brokers_by_metadata(fault, plan, state))
        case Role.GROUP_COORDINATOR:
            found = _coordinator(plan, state)
        case Role.BROKER:
            found = _brokers(plan, state, target.ordinals)
        case Role.RACK:
            found = _rack(fault, plan, state)
        case Role.CONTROLLER_NODE:
            found = _members(plan.controllers, target.ordinals)
        case Role.ZOOKEEPER | Role.ZOOKEEPER_LEADER:
            found = _zookeepers(fault, plan, state)
        case _:
            found = _traffic(fault, plan)
    return found


def choose_by_seed(candidates: Iterable[_T], count: int, seed: int, salt: str) -> list[_T]:
    """Choose `count` candidates: those whose hash with seed and salt is lowest.

    A member's rank does not depend on the other candidates, so the same seed hits the same member
    again as long as it fits.
    """

    def rank(candidate: _T) -> bytes:
        return hashlib.sha256(f"{seed}/{salt}/{candidate}".encode()).digest()

    return sorted(sorted(candidates, key=rank)[:count], key=str)


def _coordinator(plan: Plan, state: KafkaState) -> list[Candidate]:
    if state.coordinator == NO_BROKER:
        raise UnresolvedTargetError("the group has no coordinator now")
    return _brokers(plan, state, {state.coordinator})


def _rack(fault: Fault, plan: Plan, state: KafkaState) -> list[Candidate]:
    zone = fault.target.zone or _zone_of_leader(fault, plan, state)
    brokers = [broker for broker in _members(plan.brokers, ()) if broker.zone == zone]
    if not brokers:
        raise UnresolvedTargetError(f"no broker in zone {zone}")
    return brokers


def _zone_of_leader(fault: Fault, plan: Plan, state: KafkaState) -> str:
    target = fault.target
    partition = None
    if state.cluster is not None and target.topic is not None and target.partition is not None:
        partition = state.cluster.partition(target.topic, target.partition)
    leader = NO_BROKER if partition is None else partition.leader
    zone = next((broker.zone for broker in plan.brokers if broker.ordinal == leader), "")
    if not zone:
        name = f"{target.topic}-{target.partition}"
        raise UnresolvedTargetError(f"partition {name} has no leader now, so no zone is chosen")
    return zone


def _brokers_by_metadata(fault: Fault, plan: Plan, state: KafkaState) -> frozenset[int]:
    target = fault.target
    cluster = state.cluster
    if cluster is None:
        raise UnresolvedTargetError("the cluster's metadata is not known")
    if target.role is Role.CONTROLLER:
        if cluster.controller == NO_BROKER:
            raise UnresolvedTargetError("Kafka has no controller now")
        return frozenset({cluster.controller})
    topic = target.topic or plan.topics[0].name
    number = target.partition
    if number is None:
        count = next((planned.partitions for planned in plan.topics if planned.name == topic), 1)
        numbers = map(str, range(count))
        number = int(choose_by_seed(numbers, 1, plan.spec.seed, fault.name)[0])
    partition = cluster.partition(topic, number)
    if partition is None:
        raise UnresolvedTargetError(f"Kafka does not know partition {topic}-{number}")
    excluded = {cluster.controller} if target.exclude_controller else set()
    if target.role is Role.PARTITION_REPLICA:
        return frozenset(partition.replicas) - excluded
    if partition.leader == NO_BROKER:
        raise UnresolvedTargetError(f"partition {topic}-{number} has no leader now")
    if target.role is Role.PARTITION_LEADER:
        return frozenset({partition.leader})
    return frozenset(partition.replicas) - {partition.leader} - excluded


def _brokers(plan: Plan, state: KafkaState, ids: Collection[int]) -> list[Candidate]:
    if not plan.metadata.referenced:
        return _members(plan.brokers, ids)
    brokers = () if state.cluster is None else state.cluster.brokers
    return [Candidate(member_of(one.id)) for one in brokers if not ids or one.id in ids]


def _members(members: Iterable[Member], ordinals: Collection[int]) -> list[Candidate]:
    return [
        Candidate(member.member, member.pod, member.zone)
        for member in members
        if not ordinals or member.ordinal in ordinals
    ]


def _quorum_leader(plan: Plan, state: KafkaState) -> list[Candidate]:
    leaders = [member for member in plan.controllers if member.node_id == state.quorum_leader]
    if not leaders:
        raise UnresolvedTargetError("the quorum of the KRaft controllers has no leader now")
    return _members(leaders, ())


def _zookeepers(fault: Fault, plan: Plan, state: KafkaState) -> list[Candidate]:
    target = fault.target
    leader_only = target.role is Role.ZOOKEEPER_LEADER
    if leader_only and not state.zookeeper_leader:
        raise UnresolvedTargetError("ZooKeeper has no leader now")
    return [
        Candidate(server.member, server.pod, server.zone)
        for server in plan.zookeepers
        if not target.ordinals or server.ordinal in target.ordinals
        if not leader_only or server.member == state.zookeeper_leader
    ]


def _traffic(fault: Fault, plan: Plan) -> list[Candidate]:
    target = fault.target
    is_producer = target.role is Role.PRODUCER
    kind = "producer" if is_producer else "consumer"
    pod_name = names.producer_pod if is_producer else names.consumer_pod
    traffic = plan.spec.traffic
    return [
        Candidate(f"{kind}-{entry.name}-{replica}", pod_name(plan.name, entry.name, replica))
        for entry in (traffic.producers if is_producer else traffic.consumers)
        if target.name in (None, entry.name)
        for replica in range(entry.replicas)
        if not target.ordinals or replica in target.ordinals
    ]


def _broker_pod(  # noqa: PLR0913, PLR0917 - all that says which pod a broker is
    candidate: Candidate,
    fault: Fault,
    plan: Plan,
    observed: Observed,
    state: KafkaState,
    addresses: Callable[[str], frozenset[str]],
) -> TargetPod:
    """The pod of a broker that somebody else runs.

    Raises:
        UnresolvedTargetError: it is not clear which one it is.
    """
    selected = plan.spec.broker_pods
    brokers = () if state.cluster is None else state.cluster.brokers
    broker = next((each for each in brokers if member_of(each.id) == candidate.member), None)
    if selected is None or broker is None:
        raise UnresolvedTargetError(f"{candidate.member} is no broker of spec.kafkaRef now")
    namespace = selected.namespace or plan.namespace
    pods = observed.broker_pods.values()
    pod = find_pod(broker, addresses(broker.host), pods, namespace)
    problem = why_not_hit(pod, fault.action, selected)
    if problem:
        raise UnresolvedTargetError(f"broker {broker.id}: {problem}")
    return target_of(broker, pod, fault.target.role.value, namespace)


def _target_pod(candidate: Candidate, role: Role, pods: Mapping[str, Json]) -> TargetPod:
    pod = pods.get(candidate.pod)
    if pod is None or pod["metadata"].get("deletionTimestamp"):
        raise UnresolvedTargetError(f"pod {candidate.pod} of {candidate.member} does not exist")
    return TargetPod(
        pod=candidate.pod,
        uid=pod["metadata"]["uid"],
        member=candidate.member,
        role=role.value,
        node=pod["spec"].get("nodeName", ""),
        ip=pod.get("status", {}).get("podIP", ""),
        zone=candidate.zone,
    )
