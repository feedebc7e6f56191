"""Which zone each member is bound to; racks are assigned, not discovered.

Brokers are assigned to the zones in turn, so that broker.rack is known before Kafka runs. Each
server of the metadata (ZooKeeper, or a KRaft controller) goes to the zone with the most nodes left.
A test that does not fit is refused before anything is built.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krt_contract.nodes import nodes_by_zone as by_zone
from krt_operator.api.spec import Separation
from krt_operator.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krt_operator.api.spec import Spec
    from krt_operator.engine.views import Json


def nodes_by_zone(listed: Iterable[Json], spec: Spec, *, relieved: bool = False) -> dict[str, int]:
    """Usable nodes of each zone, zones sorted; the zones of `rack.zones` only, where given.

    Args:
        listed: the nodes.
        spec: the resolved spec.
        relieved: whether to count nodes under pressure as if they were not.
    """
    rack, template = spec.kafka.rack, spec.pod_template.dump()
    return by_zone(listed, rack.topology_key, rack.zones, template, relieved=relieved)


def assign(spec: Spec, nodes: Mapping[str, int] | None) -> tuple[list[str], list[str]]:
    """Zones of the brokers and of the servers of the metadata, by ordinal.

    Args:
        spec: the resolved spec.
        nodes: usable nodes by zone, in the order of assignment; None where the controller may not
            list nodes; `rack.zones` is then not checked.

    Raises:
        UserError: too few zones or nodes; names the field and the remedy.
    """
    zones = list(nodes) if nodes is not None else list(spec.kafka.rack.zones)
    if nodes is None and not zones:
        raise UserError(
            "TooFewZones",
            "spec.kafka.rack.zones",
            "the controller may not list nodes; name the zones: the values of "
            f"the label {spec.kafka.rack.topology_key} that the nodes have",
        )
    _enough_zones(spec, zones)
    empty = [zone for zone in spec.kafka.rack.zones if nodes is not None and not nodes[zone]]
    if empty:
        raise UserError(
            "NoSuchZone",
            "spec.kafka.rack.zones",
            f"no usable node has the label {spec.kafka.rack.topology_key}={empty[0]}; name zones "
            "that the nodes have, or leave the list empty for all of them",
        )
    brokers = [zones[i % len(zones)] for i in range(spec.kafka.replicas)]
    if nodes is None:
        return brokers, [zones[i % len(zones)] for i in range(spec.ensemble.replicas)]
    for zone, needed in Counter(brokers).items():
        if needed > nodes[zone]:
            raise UserError(
                "TooFewNodes",
                "spec.kafka.replicas",
                f"zone {zone} needs {needed} usable nodes, one per broker, and has {nodes[zone]}; "
                "add nodes or zones, or lower the number of brokers",
            )
    separated = spec.separation is Separation.REQUIRED
    left = dict(nodes)
    if separated:
        for zone in brokers:
            left[zone] -= 1
    return brokers, _ensemble_zones(spec, left, separated=separated)


def _enough_zones(spec: Spec, zones: Sequence[str]) -> None:
    key = spec.kafka.rack.topology_key
    if not zones:
        raise UserError(
            "TooFewZones",
            "spec.kafka.rack.topologyKey",
            f"no usable node has the label {key}; label the nodes, name another label, or set "
            "spec.kafka.rack.zones",
        )
    needed = max(topic.replication_factor for topic in spec.topics)
    if needed > len(zones):
        raise UserError(
            "TooFewZones",
            "spec.topics[].replicationFactor",
            f"{needed} replicas of a partition need as many zones (label {key}), and there are "
            f"{len(zones)}: {', '.join(zones)}; lower the factor, or label nodes of more zones",
        )


def _ensemble_zones(spec: Spec, left: dict[str, int], *, separated: bool) -> list[str]:
    chosen: list[str] = []
    total, replicas = sum(left.values()), spec.ensemble.replicas
    for _ in range(replicas):
        # Fewest servers so far first, so that a zone's loss takes as few of them as possible.
        fitting = [zone for zone in left if left[zone] > 0]
        if not fitting:
            servers = "KRaft controllers" if spec.kraft else "ZooKeeper servers"
            brokers = (
                f" that runs none of the {spec.kafka.replicas} brokers (spec.kafka.replicas; "
                f"{spec.separation_field}: Required)"
            )
            raise UserError(
                "TooFewNodes",
                f"{spec.ensemble_field}.replicas",
                f"{replicas} {servers} need a node each{brokers if separated else ''}, and "
                f"{total} usable nodes are left; add nodes, lower a number, or relax the placement",
            )
        zone = min(
            fitting, key=lambda zone: (chosen.count(zone), -left[zone], list(left).index(zone))
        )
        left[zone] -= 1
        chosen.append(zone)
    return chosen
