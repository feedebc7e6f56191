"""The `BrokerPods` port on a real API server: pods of somebody else's cluster, with his consent.

The consent is a Role in the namespace of the pods. In most installations the controller may delete
pods in every namespace, because tests may run in every namespace, so that right alone is no
consent: whoever may create a test in one namespace could have pods of another one deleted. So the
Role also has a verb of its own, on a resource that no other Role of this project names.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from krt_operator.engine.ownership import BROKER_POD_RULES, is_selected
from krt_operator.engine.views import ObjectView
from krt_operator.errors import ConflictError, GoneError, RefusedError
from krt_operator.kubernetes.client import ApiCluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_operator.engine.progress import Deletion
    from krt_operator.engine.views import Json
    from krt_operator.kubernetes.rest import Rest

REVIEW: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WHOAMI: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

RIGHTS: Final = tuple(
    (group, resource, verb)
    for rule in reversed(BROKER_POD_RULES)
    for group, resource, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"])
)
"""API group, resource and verb; the first one is the consent."""

ATTEMPTS: Final = 5
"""How often a pod that changes after it was read is read again: a pod's status changes a few times
within a second at most. A pass that gets no further is tried again, and its reason is in status."""


class ApiBrokerPods:
    """Pods of one namespace that have the labels; see `BrokerPods` in `krt_operator.engine.ports`.

    Args:
        rest: the API server.
        namespace: of the pods.
        labels: that each of them has.
    """

    def __init__(self, rest: Rest, namespace: str, labels: Mapping[str, str]) -> None:
        self._rest, self._namespace, self._labels = rest, namespace, labels
        self._cluster = ApiCluster(rest, namespace)

    def list(self) -> Sequence[Json]:
        """All pods that have the labels."""
        return self._cluster.list("Pod", self._labels)

    def delete(self, deletion: Deletion) -> bool:
        """Delete the pod with that uid; False where it is gone or does not have the labels.

        A pod that changes after it was read is read again: it may have lost the labels.

        Raises:
            ConflictError: the API server answered each time that the pod had changed.
        """
        for _ in range(ATTEMPTS):
            pod = self._find(deletion.name, deletion.uid or "")
            if pod is None:
                return False
            version = ObjectView(pod).resource_version
            if self._cluster.delete(replace(deletion, resource_version=version)):
                return True
        raise _conflict(deletion.name)

    def add_ephemeral_container(self, pod: str, uid: str, container: Json) -> Json:
        """Add an ephemeral container to the pod with that uid and the labels, once by its name.

        Raises:
            GoneError: the pod is gone, has another uid, or has lost the labels.
            ConflictError: the API server answered each time that the pod had changed.
        """
        for _ in range(ATTEMPTS):
            found = self._find(pod, uid)
            if found is None:
                raise GoneError(f"pod {pod} with uid {uid} is gone, or without the labels")
            version = ObjectView(found).resource_version
            try:
                return self._cluster.add_ephemeral_container(pod, uid, container, version)
            except ConflictError:
                # It changed after it was read, and may have lost the labels.
                continue
        raise _conflict(pod)

    def missing_rights(self) -> Sequence[str]:
        """What the controller may not do with these pods, as `verb resource`."""
        return [
            f"{verb} {resource}.{group}" if group else f"{verb} {resource}"
            for group, resource, verb in RIGHTS
            if not self._may(group, resource, verb)
        ]

    def account(self) -> str:
        """The user that the controller is; empty where the API server does not tell."""
        try:
            status = self._ask(WHOAMI, "SelfSubjectReview", {})
        except RefusedError:
            return ""
        return str((status.get("userInfo") or {}).get("username") or "")

    def _may(self, group: str, resource: str, verb: str) -> bool:
        attributes = {
            "namespace": self._namespace,
            "group": group,
            "resource": resource.partition("/")[0],
            "subresource": resource.partition("/")[2],
            "verb": verb,
        }
        spec = {"resourceAttributes": attributes}
        return bool(self._ask(REVIEW, "SelfSubjectAccessReview", spec).get("allowed"))

    def _find(self, name: str, uid: str) -> Json | None:
        pod = self._cluster.get("Pod", name)
        return pod if pod is not None and is_selected(pod, uid, self._labels) else None

    def _ask(self, path: str, kind: str, spec: Json) -> dict[str, Any]:
        version = path.removeprefix("/apis/").rpartition("/")[0]
        body = {"apiVersion": version, "kind": kind, "spec": spec}
        answer = self._rest.call("POST", path, body=body)
        return dict(answer.get("status") or {})


def _conflict(pod: str) -> ConflictError:
    return ConflictError(
        f"pod {pod}: the API server answered {ATTEMPTS} times that it had changed after it was read"
    )
