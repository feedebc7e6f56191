"""Which nodes of a cluster the members of a test can run on: by zone, labels and taints.

The controller places members by it, and ``krt doctor`` says before whether they fit.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

BLOCKING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
"""Effects of a taint that keep a pod without a toleration off a node."""

PRESSURES: Final = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
}
"""Conditions of a node that lacks something to run pods with, each with the taint that Kubernetes
gives it (kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration)."""


def nodes_by_zone(
    nodes: Iterable[Mapping[str, Any]],
    key: str,
    zones: Sequence[str],
    template: Mapping[str, Any],
    *,
    relieved: bool = False,
) -> dict[str, int]:
    """Return how many nodes of each zone are usable.

    Args:
        nodes: as the API server lists them.
        key: the label that holds a node's zone.
        zones: the zones that count, in this order; empty: all, sorted.
        template: ``spec.podTemplate`` of the test.
        relieved: whether to count nodes under pressure as if they were not.
    """
    count: Counter[str] = Counter()
    for node in nodes:
        zone = (node["metadata"].get("labels") or {}).get(key)
        if zone and (not zones or zone in zones) and usable(node, template, relieved=relieved):
            count[zone] += 1
    return {zone: count[zone] for zone in (zones or sorted(count))}


def pressures(node: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the conditions that say what a node lacks: memory, disk or process ids."""
    states = (node.get("status") or {}).get("conditions") or ()
    return tuple(
        item["type"] for item in states if item["type"] in PRESSURES and item["status"] == "True"
    )


def describe_pressures(nodes: Iterable[Mapping[str, Any]]) -> str:
    """Return the nodes under pressure, each with its conditions; empty if there are none."""
    found = {node["metadata"]["name"]: pressures(node) for node in nodes if pressures(node)}
    return ", ".join(f"{name} ({', '.join(lacks)})" for name, lacks in sorted(found.items()))


def usable(node: Mapping[str, Any], template: Mapping[str, Any], *, relieved: bool = False) -> bool:
    """Return whether the scheduler could put a member on this node, its resources aside.

    A node under pressure evicts pods, so it is not usable, whatever they tolerate.

    Args:
        node: as the API server returns it.
        template: ``spec.podTemplate`` of the test.
        relieved: whether to take a node under pressure as if it were not.
    """
    if pressures(node) and not relieved:
        return False
    spec, labels = node.get("spec") or {}, node["metadata"].get("labels") or {}
    if spec.get("unschedulable"):
        return False
    if any(labels.get(key) != value for key, value in (template.get("nodeSelector") or {}).items()):
        return False
    states = (node.get("status") or {}).get("conditions") or ()
    if not any(item["type"] == "Ready" and item["status"] == "True" for item in states):
        return False
    tolerations = template.get("tolerations") or ()
    return all(
        any(_tolerates(toleration, taint) for toleration in tolerations)
        for taint in spec.get("taints") or ()
        if taint["effect"] in BLOCKING_EFFECTS
        and not (relieved and taint["key"] in PRESSURES.values())
    )


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in {None, taint["effect"]}:
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in {None, taint["key"]}
    same = toleration.get("key") == taint["key"]
    return bool(same and toleration.get("value", "") == taint.get("value", ""))
