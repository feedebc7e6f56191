"""Whom a fault hits: role to members to pods, chosen once and by the seed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from krt_operator import names
from krt_operator.api.spec import Action, Role
from krt_operator.api.status import TargetPod
from krt_operator.faults.kafka_state import PARTITION_ROLES, Look
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from krt_operator.api.spec import Fault
    from krt_operator.engine.progress import Observed
    from krt_operator.engine.views import Json
    from krt_operator.plan.plan import Plan


class UnresolvedError(Exception):
    """Nobody fits the target now; the message says why, as a sentence."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member that a fault may hit, with the pod that runs it."""

    member: str
    pod: str
    zone: str = ""

    def __str__(self) -> str:
        """The member's name, which the seeded choice goes by."""
        return self.member


_T = TypeVar("_T", str, Candidate)


def resolve(
    fault: Fault, plan: Plan, world: Observed, look: Look, busy: Mapping[str, str]
) -> tuple[TargetPod, ...]:
    """Choose the pods a fault hits.

    The choice depends on the seed, the fault's name and the candidates alone, and is made once:
    afterwards the journal holds it.

    Args:
        fault: the fault that is due.
        plan: members and traffic of the run.
        world: the run's pods and claims.
        look: what Kafka and ZooKeeper said, see `looking.look`.
        busy: members that another open fault has, with its name.

    Returns:
        The pods; none for an action on partitions rather than on pods.

    Raises:
        UnresolvedError: no leader now, no such member, or all of them are another fault's.
    """
    target = fault.target
    if target.role is Role.PARTITION:
        return ()
    fitting = candidates(fault, plan, look)
    free = [one for one in fitting if one.member not in busy]
    number = wanted(fault, fitting)
    if len(free) < number:
        taken = sorted({busy[one.member] for one in fitting if one.member in busy})
        under = f", {len(fitting) - len(free)} under {', '.join(taken)}" if taken else ""
        raise UnresolvedError(f"{target.role} asks for {number}, there are {len(fitting)}{under}")
    chosen = seeded(free, number, plan.spec.seed, fault.name)
    found = tuple(_pod(one, target.role, world.pods) for one in chosen)
    if fault.action is Action.LOSE_DISK:
        return tuple(_with_claim(one, plan, world.claims) for one in found)
    return found


def wanted(fault: Fault, fitting: Sequence[Candidate]) -> int:
    """How many of those that fit are to be hit."""
    target = fault.target
    number = target.count or len(target.ordinals)
    if number:
        return number
    everyone = target.role is Role.RACK or fault.action is Action.ROLLING_RESTART
    return len(fitting) if everyone else 1


def candidates(fault: Fault, plan: Plan, look: Look) -> list[Candidate]:
    """Every member that fits the target's role, whoever has it now."""
    target = fault.target
    if target.role in PARTITION_ROLES or target.role is Role.CONTROLLER:
        return _brokers(plan, _from_metadata(fault, plan, look))
    match target.role:
        case Role.GROUP_COORDINATOR:
            if look.coordinator == NO_BROKER:
                raise UnresolvedError("the group has no coordinator now")
            return _brokers(plan, {look.coordinator})
        case Role.BROKER:
            return _brokers(plan, target.ordinals)
        case Role.RACK:
            zone = target.zone or _zone_of_leader(fault, plan, look)
            found = [one for one in _brokers(plan) if one.zone == zone]
            if not found:
                raise UnresolvedError(f"no broker in zone {zone}")
            return found
        case Role.ZOOKEEPER | Role.ZOOKEEPER_LEADER:
            return _zookeepers(fault, plan, look)
        case _:
            return _traffic(fault, plan)


def seeded(among: Iterable[_T], count: int, seed: int, salt: str) -> list[_T]:
    """Choose `count` of them: those whose hash with seed and salt is lowest.

    A member's rank does not depend on who else stands for choice, so the same seed hits the same
    member again as long as it fits.
    """

    def rank(one: _T) -> bytes:
        return hashlib.sha256(f"{seed}/{salt}/{one}".encode()).digest()

    return sorted(sorted(among, key=rank)[:count], key=str)


def _zone_of_leader(fault: Fault, plan: Plan, look: Look) -> str:
    target = fault.target
    found = None
    if look.cluster is not None and target.topic is not None and target.partition is not None:
        found = look.cluster.partition(target.topic, target.partition)
    leader = NO_BROKER if found is None else found.leader
    zone = next((one.zone for one in plan.brokers if one.ordinal == leader), "")
    if not zone:
        where = f"{target.topic}-{target.partition}"
        raise UnresolvedError(f"partition {where} has no leader now, so no zone is its leader's")
    return zone


def _from_metadata(fault: Fault, plan: Plan, look: Look) -> frozenset[int]:
    target = fault.target
    if look.cluster is None:
        raise UnresolvedError("the cluster's metadata is not known")
    if target.role is Role.CONTROLLER:
        if look.cluster.controller == NO_BROKER:
            raise UnresolvedError("Kafka has no controller now")
        return frozenset({look.cluster.controller})
    topic = target.topic or plan.topics[0].name
    number = target.partition
    if number is None:
        count = next((one.partitions for one in plan.topics if one.name == topic), 1)
        number = int(seeded(map(str, range(count)), 1, plan.spec.seed, fault.name)[0])
    found = look.cluster.partition(topic, number)
    if found is None:
        raise UnresolvedError(f"Kafka does not know partition {topic}-{number}")
    spared = {look.cluster.controller} if target.exclude_controller else set()
    if target.role is Role.PARTITION_REPLICA:
        return frozenset(found.replicas) - spared
    if found.leader == NO_BROKER:
        raise UnresolvedError(f"partition {topic}-{number} has no leader now")
    if target.role is Role.PARTITION_LEADER:
        return frozenset({found.leader})
    return frozenset(found.replicas) - {found.leader} - spared


def _brokers(plan: Plan, among: Collection[int] = ()) -> list[Candidate]:
    return [
        Candidate(one.member, one.pod, one.zone)
        for one in plan.brokers
        if not among or one.ordinal in among
    ]


def _zookeepers(fault: Fault, plan: Plan, look: Look) -> list[Candidate]:
    target = fault.target
    leading = target.role is Role.ZOOKEEPER_LEADER
    if leading and not look.zookeeper_leader:
        raise UnresolvedError("ZooKeeper has no leader now")
    return [
        Candidate(one.member, one.pod, one.zone)
        for one in plan.zookeepers
        if not target.ordinals or one.ordinal in target.ordinals
        if not leading or one.member == look.zookeeper_leader
    ]


def _traffic(fault: Fault, plan: Plan) -> list[Candidate]:
    target = fault.target
    producing = target.role is Role.PRODUCER
    kind = "producer" if producing else "consumer"
    pod_name = names.producer_pod if producing else names.consumer_pod
    traffic = plan.spec.traffic
    return [
        Candidate(f"{kind}-{entry.name}-{replica}", pod_name(plan.name, entry.name, replica))
        for entry in (traffic.producers if producing else traffic.consumers)
        if target.name in (None, entry.name)
        for replica in range(entry.replicas)
        if not target.ordinals or replica in target.ordinals
    ]


def _pod(chosen: Candidate, role: Role, pods: Mapping[str, Json]) -> TargetPod:
    pod = pods.get(chosen.pod)
    if pod is None or pod["metadata"].get("deletionTimestamp"):
        raise UnresolvedError(f"pod {chosen.pod} of {chosen.member} is not there")
    return TargetPod(
        pod=chosen.pod,
        uid=pod["metadata"]["uid"],
        member=chosen.member,
        role=role.value,
        node=pod["spec"].get("nodeName", ""),
        ip=pod.get("status", {}).get("podIP", ""),
        zone=chosen.zone,
    )


def _with_claim(target: TargetPod, plan: Plan, claims: Mapping[str, Json]) -> TargetPod:
    name = names.member_claim(plan.name, target.member)
    claim = claims.get(name)
    if claim is None:
        raise UnresolvedError(f"claim {name} of {target.member} is not there")
    return target.model_copy(update={"claim": name, "claim_uid": claim["metadata"]["uid"]})
