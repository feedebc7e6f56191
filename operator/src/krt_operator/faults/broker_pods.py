"""Which pod is a broker of somebody else's cluster, by its address and never by its name. Pure."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from krt_contract.faults import Action
from krt_contract.members import member_of
from krt_operator.api.broker_pods import PodManager
from krt_operator.api.status import TargetPod
from krt_operator.engine.ownership import owners
from krt_operator.faults.action import UnresolvedTargetError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_operator.api.broker_pods import BrokerPods
    from krt_operator.engine.views import Json
    from krt_operator.kafka.views import Broker

KAFKA: Final = "kafka"
"""How most containers that run Kafka are called."""

OWNERS: Final = {
    PodManager.STATEFUL_SET: frozenset({"StatefulSet"}),
    # Strimzi before 0.35 has StatefulSets.
    PodManager.STRIMZI: frozenset({"StrimziPodSet", "StatefulSet"}),
}
"""Manager to the kinds of the objects that own its pods."""

SIGNALLING: Final = frozenset({Action.CRASH_POD, Action.FREEZE_POD})
"""Actions on the process of a pod."""

DELETING: Final = frozenset({Action.DELETE_POD, Action.FREEZE_POD})
"""Actions that delete a pod; FreezePod does so only if it cannot be thawed."""

KEPT: Final = frozenset({"persistentVolumeClaim", "ephemeral", "emptyDir", "hostPath", "csi"})
"""Volumes that outlive a restart of a container."""


def find_pod(broker: Broker, addresses: frozenset[str], pods: Iterable[Json], where: str) -> Json:
    """The pod of a broker: the one with an address of the host that the broker advertises.

    Args:
        broker: its id and the host.
        addresses: those of the host.
        pods: all that the selector selects.
        where: their namespace, for messages.

    Raises:
        UnresolvedTargetError: no pod has such an address, or several have.
    """
    advertised = {_canonical(address) for address in addresses}
    found = [pod for pod in pods if advertised & pod_addresses(pod)]
    host = f"broker {broker.id} advertises {broker.host} ({', '.join(sorted(advertised))})"
    if not found:
        raise UnresolvedTargetError(
            f"{host}, and no pod in namespace {where} with the labels of "
            "spec.kafkaRef.pods.selector has this address"
        )
    if len(found) > 1:
        names = ", ".join(sorted(pod["metadata"]["name"] for pod in found))
        raise UnresolvedTargetError(
            f"{host}, and several pods in namespace {where} have this address: {names}"
        )
    return found[0]


def pod_addresses(pod: Json) -> frozenset[str]:
    """The IP addresses of a pod that has not ended."""
    status = pod.get("status") or {}
    if status.get("phase") in {"Succeeded", "Failed"}:
        # Its addresses may be another pod's by now.
        return frozenset()
    addresses = [status.get("podIP"), *(entry.get("ip") for entry in status.get("podIPs") or [])]
    return frozenset(_canonical(address) for address in addresses if address)


def target_of(broker: Broker, pod: Json, role: str, namespace: str) -> TargetPod:
    """The target that a broker's pod is, for the journal."""
    return TargetPod(
        pod=pod["metadata"]["name"],
        uid=pod["metadata"]["uid"],
        namespace=namespace,
        member=member_of(broker.id),
        role=role,
        node=pod["spec"].get("nodeName", ""),
        ip=(pod.get("status") or {}).get("podIP", ""),
    )


def why_not_managed(pod: Json, manager: PodManager) -> str:
    """Why the manager would not create the pod again, as a sentence; empty where it would."""
    kinds = OWNERS.get(manager)
    if kinds is None:
        return ""
    found = sorted(owner.get("kind", "") for owner in owners(pod) if owner.get("controller"))
    if kinds & set(found):
        return ""
    has = f"by a {found[0]}" if found else "by nothing"
    return (
        f"pod {pod['metadata']['name']} is controlled {has}, not by a {' or '.join(sorted(kinds))}"
    )


def why_not_durable(pod: Json) -> str:
    """Why the data of a pod would go with it, as a sentence; empty where it would not."""
    if any("persistentVolumeClaim" in volume for volume in pod["spec"].get("volumes") or []):
        return ""
    return (
        f"pod {pod['metadata']['name']} has no PersistentVolumeClaim, so its data would be deleted "
        "with it"
    )


def why_not_restarted(pod: Json) -> str:
    """Why a container that was killed would not run again as before, as a sentence; else empty."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    if spec.get("restartPolicy", "Always") == "Never":
        return f"pod {name} has restartPolicy Never, so a container that is killed stays down"
    kept = any(KEPT & volume.keys() for volume in spec.get("volumes") or [])
    if kept:
        return ""
    return f"pod {name} has no volume, so the data of a container would be deleted with its restart"


def find_kafka_container(pod: Json, name: str | None) -> Json | None:
    """The container of a broker's pod that runs Kafka; None where it is not clear.

    Args:
        pod: the pod.
        name: of the container in the resource; None: the one called kafka, else the only one.
    """
    containers = {container["name"]: container for container in pod["spec"]["containers"]}
    if name is not None or KAFKA in containers:
        return containers.get(name or KAFKA)
    return next(iter(containers.values())) if len(containers) == 1 else None


def why_not_hit(pod: Json, action: Action, selected: BrokerPods) -> str:
    """Why a fault that is due cannot hit a broker's pod, as a sentence; empty where it can."""
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {pod['metadata']['name']} is being deleted"
    return why_not_signalled(pod, selected.container) if action in SIGNALLING else ""


def why_not_signalled(pod: Json, name: str | None) -> str:
    """Why it is not clear which container runs Kafka, as a sentence; empty where it is."""
    if find_kafka_container(pod, name) is not None:
        return ""
    found = ", ".join(sorted(container["name"] for container in pod["spec"]["containers"]))
    return (
        f"pod {pod['metadata']['name']} has the containers {found}, and none is called "
        f"{name or KAFKA}"
    )


def _canonical(address: str) -> str:
    """The one spelling of an address; IPv6 has several."""
    try:
        return str(ip_address(address))
    except ValueError:
        return address
