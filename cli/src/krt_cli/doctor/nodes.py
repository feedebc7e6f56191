"""Nodes and zones for the members of a test, by the rules of the controller's placement."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from krt_cli.doctor.finding import Finding, blocker, ok, warning
from krt_cli.errors import KubectlError
from krt_contract.metadata import MetadataMode
from krt_contract.nodes import describe_pressures, nodes_by_zone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_cli.kubectl import Kubectl

CHECK: Final = "nodes"
ZONE: Final = "topology.kubernetes.io/zone"
MEMBERS: Final = 3
"""Brokers, and ZooKeeper servers or KRaft controllers, of a test that says nothing else."""


def nodes(kubectl: Kubectl, spec: Mapping[str, Any]) -> Finding:
    """Check that the members of a test find their nodes.

    Args:
        kubectl: to list nodes.
        spec: of the test; empty for one of three brokers in three zones.
    """
    if spec.get("kafkaRef"):
        return ok(CHECK, "the test deploys no brokers: spec.kafkaRef names a cluster that is there")
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
    brokers = int(kafka.get("replicas") or MEMBERS)
    ensemble = _Ensemble.of(spec)
    factor = max(
        (int(topic.get("replicationFactor") or 1) for topic in spec.get("topics") or ()),
        default=MEMBERS if not spec else 1,
    )
    zones, template = rack.get("zones") or (), spec.get("podTemplate") or {}

    def judge(*, relieved: bool) -> Finding:
        usable = nodes_by_zone(listed, key, zones, template, relieved=relieved)
        return _judge(usable, key, brokers, ensemble, factor)

    found, strained = judge(relieved=False), describe_pressures(listed)
    if not strained or found.level is judge(relieved=True).level:
        return found
    return warning(
        CHECK,
        f"the members do not fit without nodes under pressure: {strained}",
        "free memory or disk there, or add nodes; until then a test waits (NodesUnderPressure)",
    )


@dataclass(frozen=True)
class _Ensemble:
    """The servers of the metadata: how many, what they are called, where a test says so.

    Attributes:
        separation: the field of spec.placement that keeps them from the brokers' nodes.
        separated: whether it does.
    """

    servers: int
    name: str
    field: str
    separation: str
    separated: bool

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> _Ensemble:
        metadata = (spec.get("kafka") or {}).get("metadata") or {}
        placement = spec.get("placement") or {}
        if metadata.get("mode") == MetadataMode.KRAFT:
            described = metadata.get("controllers") or {}
            names = ("KRaft controllers", "spec.kafka.metadata.controllers", "separateControllers")
        else:
            described = spec.get("zookeeper") or {}
            names = ("ZooKeeper servers", "spec.zookeeper", "separateZooKeeper")
        separated = placement.get(names[-1], "Required") == "Required"
        return cls(int(described.get("replicas") or MEMBERS), *names, separated=separated)


def _judge(
    zones: Mapping[str, int], key: str, brokers: int, ensemble: _Ensemble, factor: int
) -> Finding:
    servers, name = ensemble.servers, ensemble.name
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
    left = sum(zones.values()) - (brokers if ensemble.separated else 0)
    if servers > left:
        return blocker(
            CHECK,
            f"{servers} {name} need a node each, and {left} are left beside the {brokers} brokers"
            if ensemble.separated
            else f"{servers} {name} need a node each, and there are {left}",
            f"add nodes, lower {ensemble.field}.replicas, or set "
            f"spec.placement.{ensemble.separation} to Preferred",
        )
    return ok(CHECK, f"{brokers} brokers and {servers} {name} fit; nodes by zone: {have}")
