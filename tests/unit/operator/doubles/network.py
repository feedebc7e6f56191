"""A network that enforces NetworkPolicies as Kubernetes defines them.

A pod that a policy selects for a direction takes (or makes) only the connections that one of these
policies allows; a pod that none selects, all. A connection needs the consent of both ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krt_operator.engine.views import Json


@dataclass(frozen=True, eq=False)
class Pod:
    """An end of a connection.

    Attributes:
        name: for messages, and what tells pods of one namespace apart.
        namespace: where it runs.
        labels: of the pod.
        ports: name of a container port → its number.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]
    ports: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Network:
    """The pods of a cluster, seen by its policies.

    Attributes:
        policies: NetworkPolicies of all namespaces.
        namespaces: name of a namespace → its labels.
    """

    policies: Sequence[Json]
    namespaces: Mapping[str, Mapping[str, str]]

    def allows(self, source: Pod, target: Pod, port: int, protocol: str = "TCP") -> bool:
        """Whether a pod may connect to another one. A pod reaches itself in any case."""
        if source is target:
            return True
        ends = (("Egress", source, target), ("Ingress", target, source))
        return all(
            self._consents(direction, subject, peer, _Port(target, port, protocol))
            for direction, subject, peer in ends
        )

    def _consents(self, direction: str, subject: Pod, peer: Pod, port: _Port) -> bool:
        policies = [
            policy
            for policy in self.policies
            if policy["metadata"]["namespace"] == subject.namespace
            and direction in _types(policy["spec"])
            and matches(policy["spec"]["podSelector"], subject.labels)
        ]
        return not policies or any(
            self._peer_matches(policy, rule.get(_PEERS[direction]), peer)
            and port.matches(rule.get("ports"))
            for policy in policies
            for rule in policy["spec"].get(direction.lower()) or ()
        )

    def _peer_matches(self, policy: Json, peers: Sequence[Json] | None, pod: Pod) -> bool:
        # No list, or an empty one, means everybody, also from outside of the cluster.
        return not peers or any(self._is_peer(policy, peer, pod) for peer in peers)

    def _is_peer(self, policy: Json, peer: Json, pod: Pod) -> bool:
        unknown = peer.keys() - {"podSelector", "namespaceSelector"}
        assert not unknown, f"the peer {peer} is not understood here"
        there = peer.get("namespaceSelector")
        if there is None:
            place = pod.namespace == policy["metadata"]["namespace"]
        else:
            place = matches(there, self.namespaces[pod.namespace])
        return place and matches(peer.get("podSelector", {}), pod.labels)


_PEERS = {"Ingress": "from", "Egress": "to"}


def _types(spec: Json) -> Iterable[str]:
    """The directions of a policy; where it names none, ingress, and egress if it lists some."""
    named: list[str] = spec.get("policyTypes") or []
    return named or ["Ingress", *(["Egress"] if spec.get("egress") else [])]


@dataclass(frozen=True)
class _Port:
    """Where a connection leads: a port of a pod."""

    pod: Pod
    number: int
    protocol: str

    def matches(self, rules: Sequence[Json] | None) -> bool:
        # No list, or an empty one, means every port.
        return not rules or any(self._is(rule) for rule in rules)

    def _is(self, rule: Json) -> bool:
        if rule.get("protocol", "TCP") != self.protocol:
            return False
        first: Any = rule.get("port")
        if first is None:
            return True
        if isinstance(first, str):
            return self.pod.ports.get(first) == self.number
        return int(first) <= self.number <= int(rule.get("endPort", first))


def matches(selector: Json, labels: Mapping[str, str]) -> bool:
    """Whether labels are selected; an empty selector selects everything."""
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    return wanted.items() <= labels.items() and all(
        _holds(expression, labels) for expression in selector.get("matchExpressions") or ()
    )


def _holds(expression: Json, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "NotIn":
            return value not in expression["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case other:
            raise AssertionError(f"no operator {other}")
