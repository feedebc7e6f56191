"""What Kafka, ZooKeeper and KRaft controllers are asked before a fault's targets are chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract.metadata import MetadataMode
from krt_contract.zookeeper import LEADING_MODES, parse_mode
from krt_operator.api.spec import Role
from krt_operator.api.targets import BROKER_ROLES
from krt_operator.errors import TransientError
from krt_operator.health.quorum import read_quorum
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Target
    from krt_operator.engine.ports import Ports
    from krt_operator.kafka.views import ClusterView

PARTITION_ROLES: Final = frozenset(
    {Role.PARTITION_LEADER, Role.PARTITION_FOLLOWER, Role.PARTITION_REPLICA}
)
"""Roles that a broker has for a partition."""


@dataclass(frozen=True, slots=True)
class KafkaState:
    """Who has the roles that only the cluster knows; filled as far as the target needs it.

    Attributes:
        cluster: the cluster's metadata.
        coordinator: broker id of the group's coordinator, `NO_BROKER` where it has none.
        quorum_leader: node id of the KRaft controller that leads the quorum, `NO_BROKER` where none
            does.
        zookeeper_leader: the ensemble's leader as a member name, `zk-1`; empty where none leads.
    """

    cluster: ClusterView | None = None
    coordinator: int = NO_BROKER
    quorum_leader: int = NO_BROKER
    zookeeper_leader: str = ""


def read_kafka_state(
    target: Target, plan: Plan, ports: Ports, unavailable: frozenset[str] = frozenset()
) -> KafkaState:
    """Ask for what the target's role needs.

    Args:
        target: whom the fault is to hit.
        plan: the run's members and groups.
        ports: Kafka, ZooKeeper and the KRaft controllers.
        unavailable: members that open faults keep from answering, which are not asked.

    Raises:
        TransientError: no member answered; ask again.
    """
    if plan.metadata.referenced and target.role in BROKER_ROLES:
        return _read_reference(target, plan, ports)
    if target.role is Role.CONTROLLER and plan.metadata.mode is MetadataMode.KRAFT:
        quorum = read_quorum(plan, ports, unavailable)
        return KafkaState(quorum_leader=NO_BROKER if quorum is None else quorum.leader)
    rack_of_leader = target.role is Role.RACK and target.zone is None
    if target.role in PARTITION_ROLES or target.role is Role.CONTROLLER or rack_of_leader:
        with ports.connect(plan, plan.bootstrap_but(unavailable)) as kafka:
            return KafkaState(cluster=kafka.view())
    if target.role is Role.GROUP_COORDINATOR:
        with ports.connect(plan, plan.bootstrap_but(unavailable)) as kafka:
            return KafkaState(coordinator=kafka.group(group_of(target, plan)).coordinator)
    if target.role is Role.ZOOKEEPER_LEADER:
        return KafkaState(zookeeper_leader=find_zookeeper_leader(plan, ports, unavailable))
    return KafkaState()


def _read_reference(target: Target, plan: Plan, ports: Ports) -> KafkaState:
    """Of a cluster that somebody else runs, only its metadata says which brokers there are."""
    with ports.connect(plan, plan.bootstrap) as kafka:
        view = kafka.view()
        if target.role is not Role.GROUP_COORDINATOR:
            return KafkaState(cluster=view)
        return KafkaState(cluster=view, coordinator=kafka.group(group_of(target, plan)).coordinator)


def group_of(target: Target, plan: Plan) -> str:
    """The group of a target: the one it names, else that of the first consumer entry."""
    return target.group or plan.spec.traffic.consumers[0].group


def find_zookeeper_leader(plan: Plan, ports: Ports, unavailable: frozenset[str]) -> str:
    """The member that leads the ensemble (or is all of it); empty while none leads."""
    modes = _modes(plan, ports, unavailable)
    return next((member for member, mode in modes if mode in LEADING_MODES), "")


def servers_without_quorum(plan: Plan, ports: Ports, unavailable: frozenset[str]) -> list[str]:
    """ZooKeeper servers that are in no quorum, leaving out the unavailable ones."""
    return [member for member, mode in _modes(plan, ports, unavailable) if not mode]


def _modes(
    plan: Plan, ports: Ports, unavailable: frozenset[str]
) -> Iterator[tuple[str, str | None]]:
    """Each server and its mode; None where it is down or in no quorum."""
    login = ports.login(plan)
    for server in plan.zookeepers:
        if server.member in unavailable:
            continue
        try:
            yield server.member, parse_mode(ports.four_letter(server.host, "srvr", login))
        except TransientError:
            yield server.member, None
