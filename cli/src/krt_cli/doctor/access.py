"""The user's rights, what the API server says of the test, and the images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from krt_cli.doctor.finding import Finding, blocker, ok, warning
from krt_cli.errors import KubectlError
from krt_cli.installation import OPERATOR
from krt_contract.labels import GROUP, PLURAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_cli.installation import Controller
    from krt_cli.kubectl import Kubectl
    from krt_cli.manifest import Manifest

TESTS: Final = f"{PLURAL}.{GROUP}"

NEEDED: Final = (("create", TESTS), ("get", TESTS), ("watch", TESTS))
"""Rights without which no test can be run and followed."""

HELPFUL: Final = (
    ("patch", TESTS, "krt abort"),
    ("delete", TESTS, "krt run --replace"),
    ("get", "configmaps", "krt explain"),
    ("create", "pods", "krt report and krt evidence"),
    ("create", "pods/exec", "krt report and krt evidence"),
)
"""Rights that single commands need."""

PULL_PROBLEMS: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName"})

DEFAULT_REGISTRY: Final = "docker.io"
"""What an image without a registry is pulled from."""

OURS: Final = "kafka-resilience/"
"""Repository of images that are built from the sources and have no registry: published nowhere."""


def rights(kubectl: Kubectl) -> Iterator[Finding]:
    """Check the user's rights in the namespace."""
    lacking = [f"{verb} {what}" for verb, what in NEEDED if not _can(kubectl, verb, what)]
    if lacking:
        yield blocker(
            "rights",
            f"you may not {', '.join(lacking)}",
            "ask for the Kubernetes role edit in the namespace: the chart adds the resource to it, "
            "but not where it was installed with rbac.namespaced (docs/how-to/install.md)",
        )
    else:
        yield ok("rights", "you may create and follow tests")
    for verb, what, command in HELPFUL:
        if not _can(kubectl, verb, what):
            yield warning(
                "rights",
                f"you may not {verb} {what}, which {command} needs",
                "ask for the Kubernetes role edit in the namespace",
            )


def _can(kubectl: Kubectl, verb: str, resource: str) -> bool:
    try:
        return kubectl("auth", "can-i", verb, resource).strip().startswith("yes")
    except KubectlError:
        return False  # kubectl says no by its exit code, too


def admitted(kubectl: Kubectl, manifest: Manifest) -> Finding:
    """Check that the API server accepts the test, without creating it."""
    try:
        kubectl("apply", "--dry-run=server", "--filename", "-", stdin=manifest.text)
    except KubectlError as error:
        return blocker("test", str(error).partition(": ")[2] or str(error), "correct the file")
    return ok("test", f"{manifest.name} is accepted by the API server")


def images(kubectl: Kubectl, controller: Controller) -> Iterator[Finding]:
    """Check the images as far as is known without a pull: who has them, whose pulls failed."""
    failed = _failed(kubectl)
    there = _on_nodes(kubectl)
    reached = _registry(controller.image) if controller.ready else None
    for name, image in sorted(controller.images.items()):
        check = f"image {name}"
        if name == OPERATOR and controller.ready:
            yield ok(check, f"{image} is what the controller runs")
        elif image in failed:
            yield blocker(
                check,
                f"{image} cannot be pulled: {failed[image]}",
                "correct the chart value images, let the nodes reach the registry, or set "
                "imagePullSecrets",
            )
        elif any(image.endswith(known) or known.endswith(image) for known in there):
            yield ok(check, f"{image} is on a node")
        elif image.startswith(OURS):
            yield blocker(
                check,
                f"{image} names no registry, and is on no node: this image is not published",
                "build and push the images: make images PUSH=registry.example.com/team, then "
                "install with --values build/images.values.yaml",
            )
        elif _registry(image) == reached:
            yield ok(check, f"{image} is on no node yet; nodes pull from {reached}")
        else:
            yield warning(
                check,
                f"{image} is on no node yet, so nothing is known of it",
                "the preflight of the first test pulls it; if that fails, the condition "
                "Provisioned says ImageUnpullable and why",
            )


def _registry(image: str) -> str:
    """Return the registry that an image is pulled from."""
    first, slash, _ = image.partition("/")
    named = slash and ("." in first or ":" in first or first == "localhost")
    return first if named else DEFAULT_REGISTRY


def _on_nodes(kubectl: Kubectl) -> set[str]:
    try:
        listed = kubectl.get("nodes")["items"]
    except KubectlError:
        return set()
    return {
        name
        for node in listed
        for image in (node.get("status") or {}).get("images") or ()
        for name in image.get("names") or ()
    }


def _failed(kubectl: Kubectl) -> dict[str, str]:
    """Return image → message of the containers that cannot pull theirs."""
    try:
        pods: list[dict[str, Any]] = kubectl.get(
            "pods", "--all-namespaces", "--selector", "app.kubernetes.io/part-of=kafka-resilience"
        )["items"]
    except KubectlError:
        return {}
    found = {}
    for pod in pods:
        for item in (pod.get("status") or {}).get("containerStatuses") or ():
            waiting = (item.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") in PULL_PROBLEMS:
                found[str(item["image"])] = str(waiting.get("message") or waiting["reason"])
    return found
