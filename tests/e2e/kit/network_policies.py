"""NetworkPolicies on the cluster: enforced for a while, made by the controller, and tried out."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kit.controller import RELEASE
from kit.run import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kit.kubectl import Kubectl

BUILD_SECONDS = 1500
"""How long kube-router and its image may take where nothing of them is cached."""

INSTALL_SECONDS = 180

SCRAPER = {"app": "scraper"}
"""Labels of the pod that may scrape metrics."""

CONNECT = """
for address; do
  { timeout 3 bash -c "exec 3<>/dev/tcp/${address/:/\\/}" 2>/dev/null && echo "$address"; } &
done
wait
"""
"""Prints those of the addresses to which a connection can be made. All are tried at once: a packet
that is dropped is waited for until the time is over."""


@contextmanager
def enforced() -> Iterator[None]:
    """Have NetworkPolicies enforced on every node; afterwards, nobody enforces them."""
    try:
        _run("hack/enforce-policies", "up", within=BUILD_SECONDS)
        yield
    finally:
        _run("hack/enforce-policies", "down", within=INSTALL_SECONDS)


@contextmanager
def created(operator: Kubectl) -> Iterator[None]:
    """Have the controller create NetworkPolicies of tests; afterwards, the release is as before."""
    release = ("--namespace", operator.namespace)
    found = json.loads(_run("helm", "status", RELEASE, *release, "-o", "json", within=60))
    values = (
        "networkPolicy.enabled=true",
        "networkPolicy.tests.enabled=true",
        *(
            f"networkPolicy.metricsFrom[0].podSelector.matchLabels.{k}={v}"
            for k, v in SCRAPER.items()
        ),
    )
    settings = [part for value in values for part in ("--set", value)]
    chart, wait = "helm/kafka-resilience", ("--wait", "--timeout", f"{INSTALL_SECONDS}s")
    try:
        _run(
            *("helm", "upgrade", RELEASE, chart, *release, *wait),
            *("--reset-then-reuse-values", *settings),
            within=INSTALL_SECONDS + 20,
        )
        yield
    finally:
        _run(
            *("helm", "rollback", RELEASE, str(found["version"]), *release, *wait),
            within=INSTALL_SECONDS + 20,
        )


def pod(name: str, labels: dict[str, str], image: str, node: str) -> dict[str, Any]:
    """Return a pod that does nothing, for trying out connections.

    Args:
        name: of the pod.
        labels: of the pod.
        image: any with bash.
        node: where it runs.
    """
    container = {
        "name": "client",
        "image": image,
        "command": ["sleep", "infinity"],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 10001,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
        },
    }


def reached(kubectl: Kubectl, source: str, addresses: Iterable[str]) -> set[str]:
    """Return those of the addresses (``host:port``) to which a pod can connect."""
    asked = list(addresses)
    command = ("exec", source, "--", "bash", "-c", CONNECT, "connect", *asked)
    return set(kubectl(*command).split())


def _run(*command: str, within: float) -> str:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=within, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)} exited {done.returncode}:\n{done.stderr}"
    return done.stdout
