"""The controller under test: where it runs, and its sudden death."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kit.artifacts import OPERATOR_SELECTOR
from kit.nodes import kill_process, on_node
from kit.wait import wait_until

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

RELEASE = "krt"
"""The chart's release, as hack/deploy names it."""

DEPLOYMENT = f"{RELEASE}-kafka-resilience"
"""Name of the controller's Deployment: release and chart."""


@dataclass(frozen=True, slots=True)
class Controller:
    """The controller's deployment, observed through kubectl and its node."""

    kubectl: Kubectl

    def pod(self) -> dict[str, Any] | None:
        """Return the running pod, or None while there is none."""
        for pod in self.kubectl.items("pods", "-l", OPERATOR_SELECTOR):
            states = pod["status"].get("containerStatuses", [])
            if states and "running" in states[0]["state"]:
                return pod
        return None

    def running(self) -> dict[str, Any]:
        """Return the running pod, waiting for it."""
        return wait_until(self.pod, 60, "a running controller pod")

    def kill(self) -> None:
        """Send SIGKILL to the controller's process, by its id on its node.

        Deleting the pod would let it end in order; SIGKILL does not. The dead pod is deleted
        afterwards, so that its successor starts at once: the kubelet would let the fourth
        container of one pod wait 40 s, its back-off for programs that crash.
        """
        pod = self.running()
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        kill_process(pod)
        self.kubectl("delete", "pod", name, "--grace-period=0", "--force", "--wait=false")
        wait_until(
            lambda: (found := self.pod()) is not None and found["metadata"]["uid"] != uid,
            60,
            f"a controller in the place of {name}",
        )

    def scale(self, replicas: int) -> None:
        """Set the number of controllers and wait until that many run."""
        self.kubectl("scale", f"deployment/{DEPLOYMENT}", f"--replicas={replicas}")
        wait_until(
            lambda: (
                len(self.kubectl.items("pods", "-l", OPERATOR_SELECTOR)) == replicas
                and (replicas == 0 or self.pod() is not None)
            ),
            60,
            f"{replicas} controller pod(s)",
        )

    def memory_peak(self) -> int | None:
        """Return the peak memory of the container's cgroup in bytes, where the node shows it."""
        pod = self.running()
        node = pod["spec"]["nodeName"]
        uid = pod["metadata"]["uid"].replace("-", "_")
        found = on_node(
            node,
            "sh",
            "-c",
            f"find /sys/fs/cgroup -path '*{uid}*' -name memory.max_usage_in_bytes -o "
            f"-path '*{uid}*' -name memory.peak | head -n 1 | xargs -r cat",
        ).strip()
        return int(found) if found else None
