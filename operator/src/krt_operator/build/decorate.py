"""What every object of a run bears: namespace, labels, one owner, restricted pods."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from krt_contract.labels import (
    ANNOTATION_APPLIED,
    LABEL_COMPONENT,
    LABEL_MEMBER,
    LABEL_TEST_UID,
    Component,
    object_labels,
    owner_reference,
)
from krt_operator.constants import OUR_UID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_operator.engine.views import Json
    from krt_operator.plan.plan import Plan

CONTAINER_SECURITY: Final[Json] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
"""What the restricted pod security standard wants of a container, and a read-only root."""

PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY")
"""Cleared: everything a run talks to is inside the cluster."""

NO_MESH: Final = {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}
"""A mesh's proxy would hold connections open that a fault has broken."""


def labels(plan: Plan, component: Component, member: str = "") -> dict[str, str]:
    """The labels of an object or pod of the run."""
    return object_labels(plan.name, plan.uid, component, member)


def selector(plan: Plan, *, component: Component | None = None, member: str = "") -> dict[str, str]:
    """A selector of the run's pods; the uid keeps a namesake's pods out."""
    found = {LABEL_TEST_UID: plan.uid}
    if component is not None:
        found[LABEL_COMPONENT] = str(component)
    if member:
        found[LABEL_MEMBER] = member
    return found


def decorate(
    objects: Iterable[Json], plan: Plan, component: Component, member: str = "", pull: str = ""
) -> list[Json]:
    """The objects as they are applied.

    Args:
        objects: as rendered.
        plan: of the run they belong to.
        component: the component label.
        member: the member label, where the object is one member's.
        pull: imagePullPolicy of containers; empty leaves it out.
    """
    return [_decorate(one, plan, labels(plan, component, member), pull) for one in objects]


def _decorate(obj: Json, plan: Plan, marks: dict[str, str], pull: str) -> Json:
    metadata = obj["metadata"]
    metadata["namespace"] = plan.namespace
    metadata["labels"] = {**metadata.get("labels", {}), **marks}
    metadata["ownerReferences"] = [owner_reference(plan.name, plan.uid)]
    if obj["kind"] == "Pod":
        harden(obj, plan, marks, pull)
    elif "template" in obj.get("spec", {}):
        harden(obj["spec"]["template"], plan, marks, pull)
    metadata.setdefault("annotations", {})[ANNOTATION_APPLIED] = digest(obj)
    return obj


def harden(pod: Json, plan: Plan, marks: dict[str, str], pull: str) -> None:
    """Set on a pod (or pod template) what the user's podTemplate and the standard ask for."""
    template = plan.spec.pod_template
    metadata, spec = pod.setdefault("metadata", {}), pod["spec"]
    metadata["labels"] = {
        **template.metadata.labels,
        **metadata.get("labels", {}),
        **marks,
        "sidecar.istio.io/inject": "false",
    }
    metadata["annotations"] = {
        **template.metadata.annotations,
        **metadata.get("annotations", {}),
        **NO_MESH,
    }
    spec.setdefault("automountServiceAccountToken", False)
    spec["enableServiceLinks"] = False
    spec["securityContext"] = _identity(plan)
    optional: dict[str, Any] = {
        "nodeSelector": dict(template.node_selector),
        "tolerations": [one.dump() for one in template.tolerations],
        "imagePullSecrets": [one.dump() for one in template.image_pull_secrets],
        "priorityClassName": template.priority_class_name,
    }
    spec.update({key: value for key, value in optional.items() if value})
    for container in (*spec.get("initContainers", []), *spec["containers"]):
        container["securityContext"] = dict(CONTAINER_SECURITY)
        env = container.setdefault("env", [])
        env.extend({"name": name, "value": ""} for name in PROXIES)
        if pull and "image" in container:
            container["imagePullPolicy"] = pull


def _identity(plan: Plan) -> Json:
    given = plan.spec.pod_template.security_context
    identity: Json = {
        "runAsNonRoot": True,
        "runAsUser": OUR_UID if given.run_as_user is None else given.run_as_user,
        "runAsGroup": given.run_as_group or 0,
        "fsGroup": given.fs_group or 0,
        # The shared volume holds other runs' files too: never walk all of them at a pod's start.
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    if given.supplemental_groups:
        identity["supplementalGroups"] = list(given.supplemental_groups)
    return identity


def digest(obj: Json) -> str:
    """A short hash of what is applied; equal means that nothing needs to be."""
    text = json.dumps(obj, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
