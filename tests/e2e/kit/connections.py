"""A pod that does nothing, and what a pod can connect to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kit.kubectl import Kubectl

CONNECT = """
for address; do
  { timeout 3 bash -c "exec 3<>/dev/tcp/${address/:/\\/}" 2>/dev/null && echo "$address"; } &
done
wait
"""
"""Prints those of the addresses to which a connection can be made. All are tried at once: a packet
that is dropped is waited for until the time is over."""


def idle_pod(name: str, labels: dict[str, str], image: str, node: str = "") -> dict[str, Any]:
    """Return a pod that does nothing, for trying out connections.

    Args:
        name: of the pod.
        labels: of the pod.
        image: any with bash.
        node: where it runs; empty: anywhere.
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
            **({"nodeName": node} if node else {}),
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
