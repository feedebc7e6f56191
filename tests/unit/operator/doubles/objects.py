"""Kubernetes objects that tests start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from krt_operator.engine.views import Json


def spec(**changes: Any) -> Json:
    """The smallest complete spec, without faults."""
    return {
        "topics": [{"name": "foo", "partitions": 2, "replicationFactor": 3}],
        "traffic": {
            "producers": [{"name": "a", "topic": "foo", "recordsPerSecond": 100}],
            "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
        },
        "warmup": "5s",
    } | changes


def node(name: str, zone: str, **changes: Any) -> Json:
    """A ready node."""
    return {
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "spec": {},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": "v1.34.2"},
        },
    } | changes
