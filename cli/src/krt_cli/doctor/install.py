"""Kubernetes, CRD and controller: there, and of one version."""

from __future__ import annotations

import json
import re
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

from krt_cli.doctor.finding import Finding, blocker, ok, warning
from krt_cli.errors import KubectlError
from krt_cli.installation import VERSION_LABEL, Controller, find_controllers
from krt_contract.labels import API_VERSION, GROUP, PLURAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_cli.kubectl import Kubectl

OLDEST: Final = (1, 30)
"""The oldest Kubernetes that the chart installs on."""

INSTALL: Final = (
    "install the chart: helm upgrade --install krt helm/kafka-resilience --namespace krt-system "
    "--create-namespace --values build/images.values.yaml --wait"
)


def kubernetes(kubectl: Kubectl) -> Finding:
    """Check the version of the API server.

    Raises:
        KubectlError: it does not answer.
    """
    server = json.loads(kubectl("version", "--output", "json")).get("serverVersion") or {}
    version = str(server.get("gitVersion", "unknown"))
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is None:
        return warning("Kubernetes", f"the version is {version}", "use Kubernetes 1.30 or later")
    if (int(found[1]), int(found[2])) < OLDEST:
        return blocker("Kubernetes", f"{version} is too old", "use Kubernetes 1.30 or later")
    return ok("Kubernetes", version)


def crd(kubectl: Kubectl) -> Finding:
    """Check that the resource is served. Discovery needs no rights of the user's own."""
    try:
        served = json.loads(kubectl("get", "--raw", f"/apis/{API_VERSION}"))
    except KubectlError:
        return blocker("CRD", f"{API_VERSION} is not served", INSTALL)
    names = {item["name"] for item in served.get("resources") or ()}
    if PLURAL not in names:
        return blocker("CRD", f"{API_VERSION} does not serve {PLURAL}", INSTALL)
    return ok("CRD", f"{API_VERSION} serves {PLURAL}")


def controllers(kubectl: Kubectl) -> list[Controller] | None:
    """Return the controllers; None where the user may not list Deployments."""
    try:
        return find_controllers(kubectl)
    except KubectlError:
        return None


def controller(
    kubectl: Kubectl, found: list[Controller] | None, namespace: str
) -> Iterator[Finding]:
    """Check that one controller runs, watches the namespace, and is of the CRD's version.

    Args:
        kubectl: to read the CRD's label.
        found: the controllers; None where they cannot be listed.
        namespace: of the test.
    """
    check = "controller"
    if found is None:
        yield warning(
            check,
            "you may not list deployments in all namespaces, so the controller was not checked",
            "ask who installed it: kubectl get deployments --all-namespaces --selector "
            "app.kubernetes.io/part-of=kafka-resilience",
        )
        return
    if not found:
        yield blocker(check, "no controller is installed", INSTALL)
        return
    if len(found) > 1:
        yield warning(
            check,
            f"{len(found)} controllers are installed: {', '.join(item.name for item in found)}",
            "uninstall all but one",
        )
    first = found[0]
    if not first.ready:
        yield blocker(
            check,
            f"{first.name} is not ready",
            f"kubectl describe pods --namespace {first.namespace} --selector "
            "app.kubernetes.io/component=operator says why",
        )
    else:
        yield ok(check, f"{first.name} {first.version} is ready")
    watched = [name for name in first.settings.get("KRT_WATCH_NAMESPACES", "").split(",") if name]
    if watched and namespace not in watched:
        yield blocker(
            check,
            f"it runs the tests of {', '.join(watched)}, and not of {namespace}",
            f"use one of these namespaces, or add {namespace} to the chart value watchNamespaces",
        )
    yield from _versions(kubectl, first)


def _versions(kubectl: Kubectl, found: Controller) -> Iterator[Finding]:
    try:
        definition: dict[str, Any] = kubectl.get("crd", f"{PLURAL}.{GROUP}")
    except KubectlError:
        definition = {}
    label = ((definition.get("metadata") or {}).get("labels") or {}).get(VERSION_LABEL, "")
    if label and found.version and label != found.version:
        yield blocker(
            "versions",
            f"the CRD is of {label}, the controller of {found.version}",
            "install both of one release: helm upgrade, with the value crds.enabled=true",
        )
    ours = metadata.version("krt-cli")
    if found.version and found.version != ours:
        yield warning(
            "versions",
            f"krt is {ours}, the controller {found.version}",
            "install krt from the repository at the controller's version",
        )
