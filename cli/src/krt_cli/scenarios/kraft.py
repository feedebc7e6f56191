"""Turns the resource of a scenario into the same test in KRaft mode; pure.

A scenario is written once, in ZooKeeper mode. What speaks of servers or settings of ZooKeeper has
no equal in KRaft mode, and such a scenario stays in the mode it was written in. Whether a resource
is valid is for the API server to say; here, what is missing in it counts as unset.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from krt_contract.metadata import MetadataMode
from krt_contract.settings import BROKER_SESSION, ZOOKEEPER_SESSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Json = dict[str, Any]

ZOOKEEPER_ROLES = ("ZooKeeper", "ZooKeeperLeader")
"""Targets of faults that KRaft mode does not have."""

CONTROLLER = "Controller"
"""A broker with ZooKeeper; in KRaft mode a server of its own, which leads the quorum."""

SESSIONS, FENCED = "brokerSessionExpirations", "brokersFenced"
"""Expectation of a fault: brokers that counted as dead, in either mode."""


class OneModeError(Exception):
    """A resource has no equal in the other mode; the message says why, in words."""


def is_kraft(resource: Mapping[str, Any]) -> bool:
    """Return whether a resource is of KRaft mode as it is written."""
    metadata = _spec(resource).get("kafka", {}).get("metadata", {})
    return bool(metadata.get("mode") == MetadataMode.KRAFT)


def to_kraft(resource: Mapping[str, Any]) -> Json:
    """Return the same test in KRaft mode; the resource itself stays as it is.

    - ``spec.zookeeper`` becomes ``spec.kafka.metadata.controllers``.
    - ``zookeeper.session.timeout.ms`` becomes ``broker.session.timeout.ms``, with the same value.
    - ``placement.separateZooKeeper`` becomes ``separateControllers``.
    - ``target.excludeController`` is left out: no broker is a controller.
    - ``brokerSessionExpirations`` becomes ``brokersFenced``. It is left out of a fault on the
      controller: the session that ends is that of the broker which is the controller.

    Raises:
        OneModeError: the resource speaks of ZooKeeper, or of a cluster that is there already.
    """
    if reason := next(_reasons(resource), None):
        raise OneModeError(reason)
    turned = copy.deepcopy(dict(resource))
    spec = turned.setdefault("spec", {})
    spec["kafka"] = _kafka(spec.get("kafka", {}), spec.pop("zookeeper", None))
    placement = spec.get("placement", {})
    if "separateZooKeeper" in placement:
        placement["separateControllers"] = placement.pop("separateZooKeeper")
    roles = {}
    for fault in spec.get("faults", []):
        fault.get("target", {}).pop("excludeController", None)
        roles[fault.get("name")] = _role(fault)
    for expected in spec.get("expect", {}).get("faults", []):
        if SESSIONS in expected:
            bounds = expected.pop(SESSIONS)
            if roles.get(expected.get("name")) != CONTROLLER:
                expected[FENCED] = bounds
    return turned


def _spec(resource: Mapping[str, Any]) -> Json:
    found: Json = resource.get("spec") or {}
    return found


def _role(fault: Json) -> str | None:
    found: str | None = fault.get("target", {}).get("role")
    return found


def _kafka(kafka: Json, zookeeper: Json | None) -> Json:
    """Return ``spec.kafka`` with the servers of the metadata in it, before the settings."""
    metadata: Json = {"mode": str(MetadataMode.KRAFT)}
    if zookeeper is not None:
        metadata["controllers"] = zookeeper
    config = kafka.pop("config", None)
    turned = {**kafka, "metadata": metadata}
    if config is not None:
        names = {ZOOKEEPER_SESSION: BROKER_SESSION}
        turned["config"] = {names.get(name, name): value for name, value in config.items()}
    return turned


def _reasons(resource: Mapping[str, Any]) -> Iterator[str]:
    """Yield what has no equal in KRaft mode."""
    spec = _spec(resource)
    if "kafkaRef" in spec:
        yield "spec.kafkaRef names a cluster that is there already, in the mode that it has"
    for fault in spec.get("faults", []):
        role = _role(fault)
        if role in ZOOKEEPER_ROLES:
            yield f"fault {fault.get('name')} hits {role}, which is not there in KRaft mode"
        if role == CONTROLLER and fault.get("action") == "LoseDisk":
            yield (
                f"fault {fault.get('name')} loses the disk of a controller; one of KRaft mode that "
                "lost its votes might vote again"
            )
    for expected in spec.get("expect", {}).get("faults", []):
        if "zookeeperLeaderChanges" in expected:
            yield (
                f"expect.faults {expected.get('name')}: zookeeperLeaderChanges counts leaders of "
                "ZooKeeper, which is not there in KRaft mode"
            )
    if spec.get("zookeeper", {}).get("config"):
        yield "spec.zookeeper.config has settings of ZooKeeper, which KRaft controllers do not have"
    for name in spec.get("kafka", {}).get("config", {}):
        if name.startswith("zookeeper.") and name != ZOOKEEPER_SESSION:
            yield f"spec.kafka.config has {name}, a setting of ZooKeeper mode"
