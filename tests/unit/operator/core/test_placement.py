"""Zones are assigned round robin, ZooKeeper where room is left, and what does not fit is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krt_operator.api.spec import Spec
from krt_operator.errors import UserError
from krt_operator.plan.placement import assign, nodes_by_zone


def _spec(brokers: int = 3, zookeepers: int = 3, factor: int = 1, **changes: Any) -> Spec:
    return Spec.model_validate(
        {
            "kafka": {"replicas": brokers},
            "zookeeper": {"replicas": zookeepers},
            "topics": [{"name": "foo", "replicationFactor": factor}],
            "traffic": {
                "producers": [{"name": "a", "topic": "foo"}],
                "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
            },
        }
        | changes
    )


def _node(zone: str, **spec: Any) -> Any:
    return {
        "metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": zone, "disk": "ssd"}},
        "spec": spec,
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


@pytest.mark.parametrize(
    ("brokers", "zookeepers", "nodes", "expected"),
    [
        (3, 3, {"a": 2, "b": 2, "c": 2}, (["a", "b", "c"], ["a", "b", "c"])),
        (4, 2, {"a": 2, "b": 2, "c": 2}, (["a", "b", "c", "a"], ["b", "c"])),
        (5, 1, {"a": 2, "b": 2, "c": 2}, (["a", "b", "c", "a", "b"], ["c"])),
        (2, 3, {"a": 4, "b": 1}, (["a", "b"], ["a", "a", "a"])),
    ],
)
def test_assign_with_enough_nodes_spreads_members(
    brokers: int, zookeepers: int, nodes: dict[str, int], expected: Any
) -> None:
    assert assign(_spec(brokers, zookeepers), nodes) == expected


def test_assign_without_required_separation_shares_nodes() -> None:
    spec = _spec(placement={"separateZooKeeper": "Preferred"})
    assert assign(spec, {"a": 1, "b": 1, "c": 1}) == (["a", "b", "c"], ["a", "b", "c"])


@pytest.mark.parametrize(
    ("spec", "nodes", "field"),
    [
        (_spec(factor=3), {"a": 9, "b": 9}, "spec.topics[].replicationFactor"),
        (_spec(brokers=4), {"a": 1, "b": 9}, "spec.kafka.replicas"),
        (_spec(), {"a": 1, "b": 1, "c": 1}, "spec.zookeeper.replicas"),
        (_spec(kafka={"rack": {"zones": ["x"]}}), {"x": 0}, "spec.kafka.rack.zones"),
        (_spec(), {}, "spec.kafka.rack.topologyKey"),
        (_spec(), None, "spec.kafka.rack.zones"),
    ],
)
def test_assign_with_too_few_nodes_names_the_field(spec: Spec, nodes: Any, field: str) -> None:
    with pytest.raises(UserError) as refused:
        assign(spec, nodes)
    assert refused.value.field == field


def test_assign_without_nodes_uses_the_zones_of_the_resource() -> None:
    spec = _spec(kafka={"replicas": 3, "rack": {"zones": ["x", "y"]}})
    assert assign(spec, None) == (["x", "y", "x"], ["x", "y", "x"])


@pytest.mark.parametrize(
    ("spec", "usable"),
    [
        ({}, 1),
        ({"unschedulable": True}, 0),
        ({"taints": [{"key": "k", "effect": "NoSchedule"}]}, 0),
        ({"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}, 1),
        ({"taints": [{"key": "mine", "value": "yes", "effect": "NoExecute"}]}, 1),
    ],
)
def test_nodes_by_zone_leaves_out_unusable_nodes(spec: Any, usable: int) -> None:
    template = {
        "tolerations": [{"key": "mine", "value": "yes"}],
        "nodeSelector": {"disk": "ssd"},
    }
    found = nodes_by_zone([_node("a", **spec)], _spec(podTemplate=template))
    assert found.get("a", 0) == usable


@given(
    brokers=st.integers(1, 9),
    zookeepers=st.integers(1, 7),
    nodes=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), min_size=1),
)
def test_assign_never_exceeds_the_nodes_of_a_zone(
    brokers: int, zookeepers: int, nodes: dict[str, int]
) -> None:
    try:
        of_brokers, of_zookeepers = assign(_spec(brokers, zookeepers), nodes)
    except UserError:
        return
    for zone, count in nodes.items():
        assert (of_brokers + of_zookeepers).count(zone) <= count
    counts = [of_brokers.count(zone) for zone in nodes]
    assert max(counts) - min(counts) <= 1
