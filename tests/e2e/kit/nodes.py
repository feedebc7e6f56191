"""Nodes of the kind cluster: commands on them, their drain and their loss."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kit.wait import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kit.kubectl import Kubectl


def on_node(node: str, *command: str) -> str:
    """Run a command on a kind node through the engine that holds it."""
    done = subprocess.run(
        ["docker", "exec", node, *command], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, f"docker exec {node} {json.dumps(command)}: {done.stderr}"
    return done.stdout


def kill_process(pod: dict[str, Any]) -> None:
    """Send SIGKILL to the process of a pod's first container, by its id on its node."""
    node = pod["spec"]["nodeName"]
    container = pod["status"]["containerStatuses"][0]["containerID"]
    container = container.removeprefix("containerd://")
    listed = on_node(node, "ctr", "-n", "k8s.io", "tasks", "ls")
    pids = [line.split()[1] for line in listed.splitlines() if line.startswith(container)]
    assert len(pids) == 1, f"no single task of container {container} on {node}:\n{listed}"
    on_node(node, "kill", "-9", pids[0])


def drain(kubectl: Kubectl, node: str, selector: str) -> None:
    """Evict the pods that have the labels from a node, as an upgrade of the node does."""
    kubectl(
        "drain",
        node,
        "--ignore-daemonsets",
        "--delete-emptydir-data",
        f"--pod-selector={selector}",
        "--timeout=60s",
        timeout=70,
    )


@contextmanager
def without_kubelet(kubectl: Kubectl, node: str) -> Iterator[None]:
    """Stop the kubelet of a node, so that nothing is started, deleted or reported there.

    At the end, it runs again and pods may be scheduled to the node.
    """
    on_node(node, "systemctl", "stop", "kubelet")
    try:
        yield
    finally:
        on_node(node, "systemctl", "start", "kubelet")
        wait_until(lambda: _usable(kubectl, node), 120, f"{node} ready again and without a taint")


def _usable(kubectl: Kubectl, node: str) -> bool:
    """Whether a node is ready and has no taint, which goes a moment after it is ready."""
    found = kubectl.get("node", node)
    ready = {each["type"]: each["status"] for each in found["status"]["conditions"]}["Ready"]
    return ready == "True" and not found["spec"].get("taints")
