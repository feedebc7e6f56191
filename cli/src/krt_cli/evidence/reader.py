"""A short-lived pod that mounts the evidence claim read-only, through which files are read.

The rights are those of the user: to create and delete pods and to execute commands in them, in the
namespace of the test. The pod has no token, and satisfies the Pod Security level restricted.
"""

from __future__ import annotations

import json
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from krt_cli.errors import CouldNotRunError, KubectlError
from krt_cli.installation import find_controller
from krt_contract.bundle import DEFAULT_CLAIM
from krt_contract.labels import LABEL_COMPONENT, PRODUCT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_cli.kubectl import Kubectl
    from krt_cli.resource import Test

MOUNT: Final = "/evidence"
"""Where the reader mounts the claim."""

LIFETIME_S: Final = 3600
"""Seconds after which the pod ends by itself, should nobody delete it."""

START_S: Final = 120
"""Seconds that the pod may take to start."""

USER: Final = 10001
"""The user of our images; files of the evidence are readable by their group, 0."""

REMEDY_IMAGE: Final = (
    "name an image that has sh, find, tar and sha256sum, and that the nodes can pull, with --image"
)


def claim_of(test: Test) -> str:
    """Return the name of the claim that holds the evidence of a test."""
    return str((test.spec.get("evidence") or {}).get("claimName") or DEFAULT_CLAIM)


def pod(test: Test, name: str, image: str, pull_policy: str) -> dict[str, Any]:
    """Return the pod that reads the evidence of a test.

    Args:
        test: it is placed and pulled as the test's own pods are.
        name: of the pod.
        image: has sh, find, tar and sha256sum.
        pull_policy: of the image; empty for the default.
    """
    template = test.spec.get("podTemplate") or {}
    context = template.get("securityContext") or {}
    container: dict[str, Any] = {
        "name": "reader",
        "image": image,
        "command": ["sleep", str(LIFETIME_S)],
        "resources": {
            "requests": {"cpu": "50m", "memory": "32Mi"},
            "limits": {"memory": "128Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "evidence", "mountPath": MOUNT, "readOnly": True}],
    }
    if pull_policy:
        container["imagePullPolicy"] = pull_policy
    claim = {"claimName": claim_of(test), "readOnly": True}
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": LIFETIME_S,
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": 0,
            "fsGroup": 0,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
            **context,
        },
        "containers": [container],
        "volumes": [{"name": "evidence", "persistentVolumeClaim": claim}],
    }
    for key in ("nodeSelector", "tolerations", "imagePullSecrets", "priorityClassName"):
        if template.get(key):
            spec[key] = template[key]
    labels = {
        "app.kubernetes.io/part-of": PRODUCT,
        "app.kubernetes.io/managed-by": "krt",
        LABEL_COMPONENT: "evidence-reader",
        "sidecar.istio.io/inject": "false",
    }
    metadata = {"name": name, "labels": labels, "annotations": {"linkerd.io/inject": "disabled"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@contextmanager
def reading(kubectl: Kubectl, test: Test, image: str | None) -> Iterator[str]:
    """Start the pod that reads the evidence of a test, yield its name, and delete it.

    Args:
        kubectl: bound to the namespace of the test.
        test: whose evidence is read.
        image: of the pod; None for that of the controller.

    Raises:
        CouldNotRunError: the pod cannot be created or does not start.
    """
    pull_policy = ""
    if image is None:
        controller = find_controller(kubectl)
        if controller is None:
            raise CouldNotRunError(
                "the image of the controller, which reads the evidence, is not known: no "
                "controller is found, or you may not list deployments",
                REMEDY_IMAGE,
            )
        image, pull_policy = controller.image, controller.pull_policy
    name = f"krt-reader-{secrets.token_hex(4)}"
    kubectl("create", "--filename", "-", stdin=json.dumps(pod(test, name, image, pull_policy)))
    try:
        _wait(kubectl, name, claim_of(test))
        yield name
    finally:
        kubectl("delete", "pod", name, "--ignore-not-found", "--wait=false")


def _wait(kubectl: Kubectl, name: str, claim: str) -> None:
    try:
        kubectl("wait", f"pod/{name}", "--for=condition=Ready", f"--timeout={START_S}s")
    except KubectlError as error:
        cause = obstacle(kubectl.get("pod", name)) or str(error)
        raise CouldNotRunError(
            f"the pod that reads the claim {claim} did not start within {START_S} s: {cause}",
            f"if it is the image, {REMEDY_IMAGE}; if it is the volume, kubectl describe pvc "
            f"{claim} says more",
        ) from error


def obstacle(found: dict[str, Any]) -> str:
    """Return why a pod does not run, in Kubernetes' own words; empty where it does not say."""
    status = found.get("status") or {}
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("message") or waiting.get("reason"):
            return f"{waiting.get('reason', '')}: {waiting.get('message', '')}".strip(": ")
    for condition in status.get("conditions") or ():
        if condition.get("status") == "False" and condition.get("message"):
            return str(condition["message"])
    return ""
