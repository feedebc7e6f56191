"""Nodes and zones for the members of a test, by the rules of the controller's placement."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from krt_cli.doctor.finding import Finding, blocker, ok, warning
from krt_cli.errors import KubectlError
from krt_contract.nodes import nodes_by_zone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_cli.kubectl import Kubectl

CHECK: Final = "nodes"
ZONE: Final = "topology.kubernetes.io/zone"
MEMBERS: Final = 3
"""Brokers, and ZooKeeper servers, of a test that says nothing else."""


def nodes(kubectl: Kubectl, spec: Mapping[str, Any]) -> Finding:
    """Check that brokers and ZooKeeper servers of a test find their nodes.

    Args:
        kubectl: to list nodes.
        spec: of the test; empty for one of three brokers in three zones.
    """
    kafka = spec.get("kafka") or {}
    rack = kafka.get("rack") or {}
    key = rack.get("topologyKey") or ZONE
    try:
        listed = kubectl.get("nodes")["items"]
    except KubectlError:
        return warning(
            CHECK,
            "you may not list nodes",
            "ask for the number of nodes and zones; a test that does not fit ends with TooFewNodes "
            "or TooFewZones",
        )
    zones = nodes_by_zone(listed, key, rack.get("zones") or (), spec.get("podTemplate") or {})
    brokers = int(kafka.get("replicas") or MEMBERS)
    servers = int((spec.get("zookeeper") or {}).get("replicas") or MEMBERS)
    factor = max(
        (int(topic.get("replicationFactor") or 1) for topic in spec.get("topics") or ()),
        default=MEMBERS if not spec else 1,
    )
    placement = spec.get("placement") or {}
    separated = placement.get("separateZooKeeper", "Required") == "Required"
    return _judge(zones, key, brokers, servers, factor, separated=separated)


def _judge(  # noqa: PLR0913 - what a placement depends on
    zones: Mapping[str, int],
    key: str,
    brokers: int,
    servers: int,
    factor: int,
    *,
    separated: bool,
) -> Finding:
    have = ", ".join(f"{zone} {count}" for zone, count in zones.items()) or "none"
    if len(zones) < max(factor, 1):
        return blocker(
            CHECK,
            f"{factor} replicas of a partition need as many zones, and the nodes that can be used "
            f"have these (label {key}): {have}",
            f"label nodes of more zones: kubectl label node NODE {key}=ZONE; or name another label "
            "in spec.kafka.rack.topologyKey (kubernetes.io/hostname: each node is a zone), or "
            "lower replicationFactor",
        )
    ordered = list(zones)
    needed = Counter(ordered[number % len(ordered)] for number in range(brokers))
    for zone, count in needed.items():
        if count > zones[zone]:
            return blocker(
                CHECK,
                f"zone {zone} needs {count} nodes for brokers and has {zones[zone]}",
                "add nodes or zones, or lower spec.kafka.replicas",
            )
    left = sum(zones.values()) - (brokers if separated else 0)
    if servers > left:
        return blocker(
            CHECK,
            f"{servers} ZooKeeper servers need a node each, and {left} are left beside the "
            f"{brokers} brokers"
            if separated
            else f"{servers} ZooKeeper servers need a node each, and there are {left}",
            "add nodes, lower spec.zookeeper.replicas, or set spec.placement.separateZooKeeper to "
            "Preferred",
        )
    return ok(
        CHECK, f"{brokers} brokers and {servers} ZooKeeper servers fit; nodes by zone: {have}"
    )
