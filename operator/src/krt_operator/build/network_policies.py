"""NetworkPolicies: who may connect to the pods of a run, and to whom its members may connect.

No pod of a run takes a connection that `ACCESS` does not allow. A new connection of the product
needs a line there, or it fails where the network enforces policies.

The kubelet's probes need no rule: Kubernetes lets a node connect to its pods, whatever policies
say.

What members connect to is limited, too: they have no peers but each other. Other pods connect to
what no selector names: traffic, recorder and the Spark driver to the API server; whoever reads or
writes evidence, which dump Jobs and the preflight do, to an object store; and all clients, in a
test on a cluster that somebody else runs, to its brokers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from krt_contract import metrics
from krt_contract.labels import LABEL_COMPONENT, MEMBERS, Component
from krt_contract.members import CONTROLLER_PORT, KAFKA_PORT, ZOOKEEPER_PORT
from krt_operator import names
from krt_operator.build.decorate import decorate_objects, selector
from krt_operator.build.render import render
from krt_operator.constants import (
    BLOCK_MANAGER_PORT,
    DRIVER_PORT,
    ELECTION_PORT,
    PEERS_PORT,
    QUORUM_PORT,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krt_operator.api.plan import Plan
    from krt_operator.app.settings import NetworkPolicies, Settings
    from krt_operator.engine.views import Json

DEFAULT_DENY: Final = "default-deny"
METRICS: Final = "metrics"
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""Label that Kubernetes sets on every namespace: its name."""


@dataclass(frozen=True)
class Access:
    """Who may connect to ports of a component.

    Attributes:
        ports: TCP.
        components: whose pods may, of the same run.
        controller: whether the controller may, which administers and observes the cluster.
    """

    ports: tuple[int, ...]
    components: tuple[Component, ...]
    controller: bool = False


CLIENTS: Final = (
    Component.PRODUCER,
    Component.CONSUMER,
    Component.RECORDER,
    Component.SCORING,
    Component.TOOL,
)
"""Clients of the brokers. Scoring reads the topics, in the driver and in the executors."""


ACCESS: Final[Mapping[Component, tuple[Access, ...]]] = {
    Component.KAFKA: (
        Access((KAFKA_PORT,), CLIENTS, controller=True),
        Access((PEERS_PORT,), (Component.KAFKA,)),
    ),
    Component.ZOOKEEPER: (
        Access((ZOOKEEPER_PORT,), (Component.KAFKA, Component.RECORDER), controller=True),
        Access((QUORUM_PORT, ELECTION_PORT), (Component.ZOOKEEPER,)),
    ),
    Component.CONTROLLER: (
        Access(
            (CONTROLLER_PORT,),
            (Component.KAFKA, Component.CONTROLLER, Component.RECORDER),
            controller=True,
        ),
    ),
    # Executors reach the driver, and fetch blocks from it and from each other.
    Component.SCORING: (Access((DRIVER_PORT, BLOCK_MANAGER_PORT), (Component.SCORING,)),),
}
"""Component to who may connect to it, besides scrapers of metrics."""


def build_network_policies(plan: Plan, settings: Settings) -> list[Json]:
    """The NetworkPolicies of a run; none where the installation does not ask for them.

    Args:
        plan: of the run.
        settings: of the installation.
    """
    asked = settings.test_network_policies
    if asked is None:
        return []
    kinds = {Component(member.kind) for member in plan.members}
    there = {
        component: accesses
        for component, accesses in ACCESS.items()
        if component in kinds or component not in MEMBERS
    }
    policies = [_policy(plan, DEFAULT_DENY, {"matchLabels": selector(plan)}, [])]
    for component, accesses in there.items():
        policies.append(
            _policy(
                plan,
                str(component),
                _pods(plan, (component,)),
                [_ingress(plan, access, asked, settings.namespace) for access in accesses],
                _egress(plan, component, there, asked) if component in MEMBERS else None,
            )
        )
    exporters = (Component.PRODUCER, Component.CONSUMER, Component.RECORDER)
    scrapers = asked.metrics_from or ({"namespaceSelector": {}},)
    scraping = {"from": list(scrapers), "ports": _tcp((metrics.PORT,))}
    policies.append(_policy(plan, METRICS, _pods(plan, exporters), [scraping]))
    return policies


def _policy(
    plan: Plan,
    subject: str,
    pods: Json,
    ingress: Sequence[Json],
    egress: Sequence[Json] | None = None,
) -> Json:
    """A policy of some pods; where egress is None, they may connect to whomever they want."""
    objects = render(
        "network-policy.yaml.j2",
        name=names.network_policy(plan.name, subject),
        selector=pods,
        ingress=list(ingress),
        egress=egress,
    )
    return decorate_objects(objects, plan, Component.NETWORK)[0]


def _ingress(plan: Plan, access: Access, asked: NetworkPolicies, namespace: str) -> Json:
    peers = [{"podSelector": _pods(plan, access.components)}]
    if access.controller:
        peers.append(
            {
                "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: namespace}},
                "podSelector": {"matchLabels": dict(asked.controller)},
            }
        )
    return {"from": peers, "ports": _tcp(access.ports)}


def _egress(
    plan: Plan,
    member: Component,
    there: Mapping[Component, Iterable[Access]],
    asked: NetworkPolicies,
) -> list[Json]:
    """What a member connects to: the members that let it in, and the cluster's DNS.

    Who answers DNS requests differs: pods, or a cache on the node, which no selector names.
    """
    rules: list[Json] = [
        {"to": [{"podSelector": _pods(plan, (target,))}], "ports": _tcp(access.ports)}
        for target in MEMBERS
        for access in there.get(target, ())
        if member in access.components
    ]
    lookups = [
        {"port": port, "protocol": protocol}
        for port in asked.dns_ports
        for protocol in ("UDP", "TCP")
    ]
    return [*rules, {"ports": lookups}]


def _pods(plan: Plan, components: Sequence[Component]) -> Json:
    """A selector of the pods of some components of the run."""
    if len(components) == 1:
        return {"matchLabels": selector(plan, component=components[0])}
    one_of: dict[str, Any] = {
        "key": LABEL_COMPONENT,
        "operator": "In",
        "values": [str(component) for component in components],
    }
    return {"matchLabels": selector(plan), "matchExpressions": [one_of]}


def _tcp(ports: Sequence[int]) -> list[Json]:
    return [{"port": port, "protocol": "TCP"} for port in ports]
