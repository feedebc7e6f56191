"""The namespace of somebody who runs a Kafka cluster: its pods, and what the controller may do."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.unit.operator.doubles.broker_processes import BrokerProcesses
from tests.unit.operator.doubles.objects import copied

from krt_operator.errors import ConflictError, RefusedError
from krt_operator.kubernetes.rest import NotFoundError, Rest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.unit.operator.doubles.world import World

    from krt_operator.engine.views import Json

OWNERS_NAMESPACE = "kafka"
LABELS = {"strimzi.io/cluster": "my-cluster", "strimzi.io/kind": "Kafka"}
ACCOUNT = "system:serviceaccount:krt-system:krt-kafka-resilience"
RETURN = timedelta(seconds=5)
"""From the deletion of a broker's pod until its StatefulSet has another one that is ready."""
PODS = re.compile(
    rf"/api/v1/namespaces/{OWNERS_NAMESPACE}/pods(?:/(?P<name>[^/]+)(?P<ephemeral>/ephemeralcontainers)?)?"
)


def version_of(pod: Json) -> str:
    """The version of a pod: another one whenever anything of it has changed."""
    return hashlib.sha256(json.dumps(pod, sort_keys=True).encode()).hexdigest()


def served(pod: Json) -> Json:
    """A pod as the API server returns it."""
    copy = copied(pod)
    copy["metadata"]["resourceVersion"] = version_of(pod)
    return copy


class Owner(Rest):
    """The API server for this namespace: labels, uid preconditions, rights, a StatefulSet."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.pods: dict[str, Json] = {}
        self.addresses: dict[str, frozenset[str]] = {}
        """Host that a broker advertises to its addresses, as DNS has them."""
        self.denied: set[str] = set()
        """`verb resource` that the controller may not do."""
        self.deleted: list[str] = []
        self.trespasses: list[str] = []
        self.before_call: Callable[[], object] = lambda: None
        """What the owner does before a call of the controller is served."""
        self.processes = BrokerProcesses(self)
        self.serial = 0
        self.gone: dict[str, tuple[int, Any]] = {}

    def run_brokers(self, *brokers: int) -> None:
        """Start a pod for each broker; its name says nothing of the broker's id."""
        for place, broker in enumerate(brokers):
            self._start(f"my-cluster-pool-{place}", broker)

    def _start(self, name: str, broker: int) -> None:
        self.serial += 1
        address = f"10.9.0.{self.serial}"
        self.addresses[f"host-{broker}"] = frozenset({address})
        self.pods[name] = {
            "metadata": {
                "name": name,
                "uid": f"owner-{self.serial}",
                "labels": dict(LABELS),
                "ownerReferences": [{"kind": "StatefulSet", "name": "s", "controller": True}],
            },
            "spec": {
                "nodeName": "n1",
                "containers": [{"name": "kafka", "image": "kafka:9"}],
                "volumes": [
                    {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}
                ],
            },
            "status": {
                "phase": "Running",
                "podIP": address,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }

    def advance(self) -> None:
        """Let the StatefulSet create what is missing."""
        for name, (broker, since) in list(self.gone.items()):
            if self.world.time >= since + RETURN:
                del self.gone[name]
                self._start(name, broker)
        self.processes.advance()
        down = frozenset(broker for broker, _ in self.gone.values())
        if self.pods:
            self.world.reference_down = down | self.processes.down()

    def broker_of(self, name: str) -> int:
        """The id of the broker that a pod runs."""
        address = self.pods[name]["status"]["podIP"]
        (host,) = (host for host, found in self.addresses.items() if address in found)
        return int(host.removeprefix("host-"))

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Any:
        """Serve one call."""
        del content_type
        self.before_call()
        self.advance()
        if path.endswith("/selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            assert asked["namespace"] == OWNERS_NAMESPACE
            subresource = f"/{asked['subresource']}" if asked["subresource"] else ""
            right = f"{asked['verb']} {asked['resource']}{subresource}"
            return {"status": {"allowed": right not in self.denied}}
        if path.endswith("/selfsubjectreviews"):
            return {"status": {"userInfo": {"username": ACCOUNT}}}
        found = PODS.fullmatch(path)
        assert found is not None, path
        name = found["name"]
        verb = {"GET": "get" if name else "list", "DELETE": "delete", "PATCH": "patch"}[method]
        resource = f"pods{found['ephemeral'] or ''}"
        if f"{verb} {resource}" in self.denied:
            raise RefusedError(f"HTTP 403: cannot {verb} {resource} in {OWNERS_NAMESPACE}")
        if not name:
            selector = dict(
                part.split("=", 1) for part in (query or {})["labelSelector"].split(",")
            )
            return {
                "items": [
                    served(pod)
                    for pod in self.pods.values()
                    if selector.items() <= pod["metadata"]["labels"].items()
                ]
            }
        pod = self.pods.get(name)
        if pod is None:
            raise NotFoundError(f"HTTP 404: {name}")
        if method == "PATCH":
            return self._patch(pod, body)
        return self._delete(pod, body) if method == "DELETE" else served(pod)

    def _patch(self, pod: Json, patch: Json) -> Json:
        """A strategic merge patch of the subresource: containers are merged by their names."""
        self._check(pod, patch["metadata"])
        present = pod["spec"].setdefault("ephemeralContainers", [])
        for container in patch["spec"]["ephemeralContainers"]:
            assert all(each["name"] != container["name"] for each in present)
            present.append(copied(container))
            self.processes.signal(pod, container)
        return served(pod)

    def _check(self, pod: Json, preconditions: Json) -> None:
        """Refuse a change of another pod, or of another version, than the one that is meant."""
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        # Without a precondition, whatever has the name by now would be changed.
        if preconditions.get("uid") != uid:
            if not preconditions:
                self.trespasses.append(f"{name} without its uid")
            raise ConflictError("HTTP 409: Precondition failed: UID")
        if preconditions.get("resourceVersion", version_of(pod)) != version_of(pod):
            raise ConflictError("HTTP 409: Precondition failed: ResourceVersion")
        journaled = {
            target["uid"]
            for fault in self.world.status.get("faults", [])
            if fault["state"] != "Pending"
            for target in fault.get("targets", [])
        }
        if uid not in journaled or not LABELS.items() <= pod["metadata"]["labels"].items():
            self.trespasses.append(name)

    def _delete(self, pod: Json, options: Json) -> Json:
        self._check(pod, options.get("preconditions") or {})
        name = pod["metadata"]["name"]
        self.deleted.append(name)
        self.gone[name] = self.broker_of(name), self.world.time
        self.processes.forget(name)
        del self.pods[name]
        self.advance()
        return {}
