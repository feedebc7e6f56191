"""A short-lived pod through which the files of the evidence are read.

It mounts the evidence claim read-only, or copies the bundle out of the object store first.

The rights are those of the user: to create and delete pods and to execute commands in them, in the
namespace of the test. The pod has no token, and satisfies the Pod Security level restricted.
"""

from __future__ import annotations

import json
import secrets
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from krt_cli.errors import CouldNotRunError, KubectlError
from krt_cli.evidence.place import Bucket, Claim, image_of
from krt_cli.installation import find_controller
from krt_contract.labels import LABEL_COMPONENT, PRODUCT
from krt_contract.stores import ca

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_cli.kubectl import Kubectl
    from krt_cli.resource import Test

MOUNT: Final = "/evidence"
"""Where the reader has the evidence."""

LIFETIME_S: Final = 3600
"""Seconds after which the pod ends by itself, should nobody delete it."""

START_S: Final = 120
"""Seconds that the pod may take to start."""

USER: Final = 10001
"""The user of our images; files of the evidence are readable by their group, 0."""

DOWNLOAD: Final = "download"
"""The container that copies a bundle out of an object store."""

REMEDY_IMAGE: Final = (
    "with --image, name an image that the nodes can pull: the traffic image for an object store, "
    "any with sh, find, tar and sha256sum for a claim"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read.

    Attributes:
        place: where the evidence is.
        bundle: path of the bundle there.
        names: files of the bundle; none: all of them.
        images: component → image that the test ran; empty where that is not known.
    """

    place: Claim | Bucket
    bundle: str
    names: tuple[str, ...] = ()
    images: Mapping[str, str] = field(default_factory=dict)


def pod(  # the pod of a claim and of an object store differ in one container and one volume
    test: Test, wanted: Wanted, name: str, image: str, pull_policy: str
) -> dict[str, Any]:
    """Return the pod that reads the evidence of a test.

    Args:
        test: it is placed and pulled as the test's own pods are.
        wanted: what it reads.
        name: of the pod.
        image: has sh, find, tar and sha256sum, and our traffic package where an object store is
            read.
        pull_policy: of the image; empty for the default.
    """
    template = test.spec.get("podTemplate") or {}
    context = template.get("securityContext") or {}
    shared: dict[str, Any] = {
        "image": image,
        "resources": {
            "requests": {"cpu": "50m", "memory": "32Mi"},
            "limits": {"memory": "256Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    if pull_policy:
        shared["imagePullPolicy"] = pull_policy
    container = {
        **shared,
        "name": "reader",
        "command": ["sleep", str(LIFETIME_S)],
        "volumeMounts": [{"name": "evidence", "mountPath": MOUNT, "readOnly": True}],
    }
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
    }
    if isinstance(wanted.place, Claim):
        claim = {"claimName": wanted.place.name, "readOnly": True}
        spec["volumes"] = [{"name": "evidence", "persistentVolumeClaim": claim}]
    else:
        spec["volumes"] = [{"name": "evidence", "emptyDir": {}}]
        if wanted.place.ca:
            spec["volumes"].append(ca.volume(wanted.place.ca))
        if wanted.place.account:
            spec["serviceAccountName"] = wanted.place.account
        spec["initContainers"] = [{**shared, **_download(wanted, wanted.place)}]
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


def _download(wanted: Wanted, bucket: Bucket) -> dict[str, Any]:
    """Return what is peculiar to the container that copies the bundle out of an object store."""
    folder = f"{MOUNT}/{wanted.bundle}"
    mounts: list[dict[str, Any]] = [{"name": "evidence", "mountPath": MOUNT}]
    if bucket.ca:
        mounts.append(ca.mount())
    return {
        "name": DOWNLOAD,
        "command": ["python3", "-m", "krt_traffic.download", wanted.bundle, folder, *wanted.names],
        "env": bucket.variables(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }


@contextmanager
def reading(kubectl: Kubectl, test: Test, wanted: Wanted, image: str | None) -> Iterator[str]:
    """Start the pod that reads the evidence of a test, yield its name, and delete it.

    Args:
        kubectl: bound to the namespace of the test.
        test: whose evidence is read.
        wanted: what is read.
        image: of the pod; None for one that the test ran, or else of the controller's.

    Raises:
        CouldNotRunError: the pod cannot be created or does not start.
    """
    image = image or image_of(wanted.place, wanted.images)
    pull_policy = ""
    if not image:
        controller = find_controller(kubectl)
        if controller is None:
            raise CouldNotRunError(
                "which image can read the evidence is not known: the test has no plan, and no "
                "controller is found, or you may not list deployments",
                REMEDY_IMAGE,
            )
        image = image_of(wanted.place, controller.images) or controller.image
        pull_policy = controller.pull_policy
    name = f"krt-reader-{secrets.token_hex(4)}"
    kubectl(
        "create", "--filename", "-", stdin=json.dumps(pod(test, wanted, name, image, pull_policy))
    )
    try:
        _wait(kubectl, name, wanted.place)
        yield name
    finally:
        kubectl("delete", "pod", name, "--ignore-not-found", "--wait=false")


def _wait(kubectl: Kubectl, name: str, place: Claim | Bucket) -> None:
    try:
        kubectl("wait", f"pod/{name}", "--for=condition=Ready", f"--timeout={START_S}s")
    except KubectlError as error:
        cause = obstacle(kubectl.get("pod", name)) or str(error)
        what = (
            f"the volume, kubectl describe pvc {place.name} says more"
            if isinstance(place, Claim)
            else "the object store, check that it runs and that the objects with its keys and its "
            "CA are there"
        )
        raise CouldNotRunError(
            f"the pod that reads the {place} did not start within {START_S} s: {cause}",
            f"if it is the image, {REMEDY_IMAGE}; if it is {what}",
        ) from error


def obstacle(found: dict[str, Any]) -> str:
    """Return why a pod does not run, in Kubernetes' own words; empty where it does not say."""
    status = found.get("status") or {}
    for container in status.get("initContainerStatuses") or ():
        ended = (container.get("state") or {}).get("terminated") or {}
        if ended.get("exitCode"):
            return str(ended.get("message") or "").strip() or str(ended.get("reason"))
    waits = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    for container in waits:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("message") or waiting.get("reason"):
            return f"{waiting.get('reason', '')}: {waiting.get('message', '')}".strip(": ")
    for condition in status.get("conditions") or ():
        if condition.get("status") == "False" and condition.get("message"):
            return str(condition["message"])
    return ""
