"""What every object of a run carries: namespace, labels, its owner, restricted pods."""

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
    from collections.abc import Iterable, Mapping

    from krt_operator.api.plan import Plan
    from krt_operator.engine.views import Json

CONTAINER_SECURITY: Final[Json] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
"""What the restricted Pod Security Standard requires of a container, and a read-only root."""

PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY")
"""Set to empty: everything that a run connects to is inside the cluster."""

NO_MESH: Final = {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}
"""No service mesh: its proxy would keep connections open that a fault has broken."""


def labels(plan: Plan, component: Component, member: str = "") -> dict[str, str]:
    """The labels of an object or pod of the run."""
    return object_labels(plan.name, plan.uid, component, member)


def selector(plan: Plan, *, component: Component | None = None, member: str = "") -> dict[str, str]:
    """A selector of the run's pods; the uid excludes another test of the same name."""
    result = {LABEL_TEST_UID: plan.uid}
    if component is not None:
        result[LABEL_COMPONENT] = str(component)
    if member:
        result[LABEL_MEMBER] = member
    return result


def decorate_objects(
    objects: Iterable[Json],
    plan: Plan,
    component: Component,
    member: str = "",
    pull_policy: str = "",
) -> list[Json]:
    """Return the objects as they are applied.

    Args:
        objects: as rendered.
        plan: of the run they belong to.
        component: the component label.
        member: the member label, where the object is one member's.
        pull_policy: `imagePullPolicy` of containers; empty leaves it out.
    """
    return [_decorate(obj, plan, labels(plan, component, member), pull_policy) for obj in objects]


def build_secret(plan: Plan, component: Component, name: str, texts: Mapping[str, str]) -> Json:
    """A Secret that is created once and deleted with the test.

    It has no digest of itself in an annotation, as applied objects have: who reads annotations
    would have one of what is secret.

    Args:
        plan: of the run it belongs to.
        component: the component label.
        name: of the Secret.
        texts: key → its text.
    """
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": plan.namespace,
            "labels": labels(plan, component),
            "ownerReferences": [owner_reference(plan.name, plan.uid)],
        },
        "immutable": True,
        "stringData": dict(texts),
    }


def _decorate(obj: Json, plan: Plan, pod_labels: dict[str, str], pull_policy: str) -> Json:
    metadata = obj["metadata"]
    metadata["namespace"] = plan.namespace
    metadata["labels"] = {**metadata.get("labels", {}), **pod_labels}
    metadata["ownerReferences"] = [owner_reference(plan.name, plan.uid)]
    if obj["kind"] == "Pod":
        harden_pod(obj, plan, pod_labels, pull_policy)
    elif "template" in obj.get("spec", {}):
        harden_pod(obj["spec"]["template"], plan, pod_labels, pull_policy)
    metadata.setdefault("annotations", {})[ANNOTATION_APPLIED] = applied_digest(obj)
    return obj


def harden_pod(pod: Json, plan: Plan, pod_labels: dict[str, str], pull_policy: str) -> None:
    """Set on a pod (or pod template) what the user's podTemplate and Pod Security require."""
    template = plan.spec.pod_template
    metadata, spec = pod.setdefault("metadata", {}), pod["spec"]
    metadata["labels"] = {
        **template.metadata.labels,
        **metadata.get("labels", {}),
        **pod_labels,
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
        "tolerations": [toleration.dump() for toleration in template.tolerations],
        "imagePullSecrets": [secret.dump() for secret in template.image_pull_secrets],
        "priorityClassName": template.priority_class_name,
    }
    spec.update({key: value for key, value in optional.items() if value})
    for container in (*spec.get("initContainers", []), *spec["containers"]):
        container["securityContext"] = dict(CONTAINER_SECURITY)
        env = container.setdefault("env", [])
        env.extend({"name": name, "value": ""} for name in PROXIES)
        if pull_policy and "image" in container:
            container["imagePullPolicy"] = pull_policy


def _identity(plan: Plan) -> Json:
    context = plan.spec.pod_template.security_context
    identity: Json = {
        "runAsNonRoot": True,
        "runAsUser": OUR_UID if context.run_as_user is None else context.run_as_user,
        "runAsGroup": context.run_as_group or 0,
        "fsGroup": context.fs_group or 0,
        # The evidence volume holds other runs' files too: do not change all of them at each start.
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    if context.supplemental_groups:
        identity["supplementalGroups"] = list(context.supplemental_groups)
    return identity


def applied_digest(obj: Json) -> str:
    """A short hash of an object; while it is unchanged, the object need not be applied again."""
    text = json.dumps(obj, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
