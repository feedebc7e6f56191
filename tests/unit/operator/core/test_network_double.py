"""The network of the tests enforces NetworkPolicies as Kubernetes' documentation defines them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.operator.doubles.network import Network, Pod, matches

if TYPE_CHECKING:
    from krt_operator.engine.views import Json

NAMESPACES = {"here": {"kubernetes.io/metadata.name": "here"}, "there": {"team": "x"}}
DB = Pod("db", "here", {"app": "db"}, {"sql": 5432})
WEB = Pod("web", "here", {"app": "web"})
WEB_THERE = Pod("web", "there", {"app": "web"})


def policy(**spec: object) -> Json:
    """Return a policy of the pod db."""
    selector = {"podSelector": {"matchLabels": {"app": "db"}}}
    return {"metadata": {"namespace": "here"}, "spec": selector | spec}


def network(*policies: Json) -> Network:
    return Network(policies, NAMESPACES)


def test_pod_without_policy_takes_and_makes_every_connection() -> None:
    assert network().allows(WEB_THERE, DB, 5432)
    # A policy of another namespace selects no pod of this one.
    elsewhere = {"metadata": {"namespace": "there"}, "spec": {"podSelector": {}}}
    assert network(elsewhere).allows(WEB, DB, 5432)


def test_policy_without_rules_denies_its_direction_alone() -> None:
    assert not network(policy()).allows(WEB, DB, 5432)
    assert network(policy()).allows(DB, WEB, 80)
    assert not network(policy(policyTypes=["Egress"])).allows(DB, WEB, 80)
    assert network(policy(policyTypes=["Egress"])).allows(WEB, DB, 5432)
    # One that lists what may go out limits both.
    out = policy(egress=[{"ports": [{"port": 80}]}])
    assert not network(out).allows(WEB, DB, 5432)
    assert network(out).allows(DB, WEB, 80)
    assert not network(out).allows(DB, WEB, 81)


def test_pod_reaches_itself_whatever_policies_say() -> None:
    assert network(policy()).allows(DB, DB, 5432)


@pytest.mark.parametrize(
    ("peer", "allowed"),
    [
        ({"podSelector": {"matchLabels": {"app": "web"}}}, {WEB}),
        ({"namespaceSelector": {}}, {WEB, WEB_THERE}),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, {WEB_THERE}),
        (
            {
                "namespaceSelector": {"matchLabels": {"team": "x"}},
                "podSelector": {"matchLabels": {"app": "other"}},
            },
            set(),
        ),
    ],
)
def test_peer_is_selected_by_pod_and_namespace(peer: Json, allowed: set[Pod]) -> None:
    found = network(policy(ingress=[{"from": [peer]}]))
    names = {(pod.namespace, pod.name) for pod in (WEB, WEB_THERE) if found.allows(pod, DB, 5432)}
    assert names == {(pod.namespace, pod.name) for pod in allowed}


def test_policies_of_a_pod_add_up() -> None:
    allow = policy(ingress=[{"ports": [{"port": 5432}]}])
    assert network(policy(), allow).allows(WEB, DB, 5432)
    assert not network(policy(), allow).allows(WEB, DB, 5433)


def test_ports_are_matched_by_number_range_name_and_protocol() -> None:
    def open_to(rule: Json, port: int, protocol: str = "TCP") -> bool:
        return network(policy(ingress=[{"ports": [rule]}])).allows(WEB, DB, port, protocol)

    assert open_to({"port": "sql"}, 5432)
    assert not open_to({"port": "other"}, 5432)
    assert open_to({"port": 5000, "endPort": 6000}, 5432)
    assert not open_to({"port": 5000, "endPort": 5001}, 5432)
    assert not open_to({"port": 53}, 53, "UDP")
    assert open_to({"port": 53, "protocol": "UDP"}, 53, "UDP")


@pytest.mark.parametrize(
    ("operator", "values", "selected"),
    [
        ("In", ["a", "b"], True),
        ("NotIn", ["a"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
    ],
)
def test_expressions_are_matched(operator: str, values: list[str], selected: bool) -> None:
    expression = {"key": "k", "operator": operator, "values": values}
    assert matches({"matchExpressions": [expression]}, {"k": "a"}) is selected
