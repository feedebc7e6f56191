"""What has to be asked of Kafka and ZooKeeper before a fault's targets can be named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.zookeeper import LEADING_MODES, parse_mode
from krt_operator.api.spec import Role
from krt_operator.errors import TransientError
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_operator.api.spec import Target
    from krt_operator.engine.ports import Ports
    from krt_operator.kafka.views import ClusterView
    from krt_operator.plan.plan import Plan

PARTITION_ROLES = frozenset(
    {Role.PARTITION_LEADER, Role.PARTITION_FOLLOWER, Role.PARTITION_REPLICA}
)


@dataclass(frozen=True, slots=True)
class Look:
    """What was found; only what the role needs is asked for.

    Attributes:
        cluster: the cluster's metadata.
        coordinator: broker id of the group's coordinator, `NO_BROKER` where it has none.
        zookeeper_leader: the ensemble's leader as a member name, `zk-1`.
    """

    cluster: ClusterView | None = None
    coordinator: int = NO_BROKER
    zookeeper_leader: str = ""


def look(target: Target, plan: Plan, ports: Ports, silent: frozenset[str] = frozenset()) -> Look:
    """Ask for what the target's role needs.

    Args:
        target: whom the fault is to hit.
        plan: the run's members and groups.
        ports: whom to ask through.
        silent: members that open faults keep from answering, and that nobody is to wait for.

    Raises:
        TransientError: nobody answered; ask again.
    """
    by_leader = target.role is Role.RACK and target.zone is None
    if target.role in PARTITION_ROLES or target.role is Role.CONTROLLER or by_leader:
        with ports.kafka(plan.bootstrap_but(silent)) as kafka:
            return Look(cluster=kafka.view())
    if target.role is Role.GROUP_COORDINATOR:
        with ports.kafka(plan.bootstrap_but(silent)) as kafka:
            return Look(coordinator=kafka.group(group_of(target, plan)).coordinator)
    if target.role is Role.ZOOKEEPER_LEADER:
        return Look(zookeeper_leader=zookeeper_leader(plan, ports, silent))
    return Look()


def group_of(target: Target, plan: Plan) -> str:
    """The group a target means: the one named, else that of the first consumer entry."""
    return target.group or plan.spec.traffic.consumers[0].group


def zookeeper_leader(plan: Plan, ports: Ports, but: frozenset[str] = frozenset()) -> str:
    """The member that leads the ensemble (or is all of it); empty while none does.

    `but` are members not to be asked: one that is frozen leads nobody for long.
    """
    modes = _modes(plan, ports, but)
    return next((name for name, now in modes if now in LEADING_MODES), "")


def silent_servers(plan: Plan, ports: Ports, but: frozenset[str]) -> list[str]:
    """ZooKeeper servers that are in no quorum; `but` are members not to be asked about."""
    return [name for name, now in _modes(plan, ports, but) if not now]


def _modes(
    plan: Plan, ports: Ports, but: frozenset[str] = frozenset()
) -> Iterator[tuple[str, str | None]]:
    """Each server and its mode; None where it is down or in no quorum."""
    for server in plan.zookeepers:
        if server.member in but:
            continue
        try:
            yield server.member, parse_mode(ports.four_letter(server.host, "srvr"))
        except TransientError:
            yield server.member, None
