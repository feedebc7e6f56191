"""Kafka's own VerifiableProducer and VerifiableConsumer as pods beside a run's cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kit.wait import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from kit.kubectl import Kubectl

PACKAGE = "org.apache.kafka.tools"
SECONDS = 180
"""For a pod to start a JVM and do its work on a machine that runs a complete cluster."""


@dataclass(frozen=True, slots=True)
class Tools:
    """Runs the tools from the brokers' own image.

    Attributes:
        kubectl: bound to the run's namespace.
        bootstrap: host and port of a broker.
        image: the brokers' image; it holds kafka-tools.
    """

    kubectl: Kubectl
    bootstrap: str
    image: str

    def start(self, pod: str, tool: str, *arguments: str) -> None:
        """Start a tool as a pod under restricted pod security."""
        command = ["java", "-Xmx96m", "-XX:TieredStopAtLevel=1", "-cp", "/opt/kafka/libs/*"]
        container = {
            "name": "tool",
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "command": [*command, f"{PACKAGE}.{tool}"],
            "args": ["--bootstrap-server", self.bootstrap, *arguments],
            "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            },
        }
        self.kubectl.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": pod},
                "spec": {
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": 10001,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [container],
                },
            }
        )

    def count_events(self, pod: str, event: str) -> int:
        """Return how often a tool printed an event."""
        state = self._state(pod)
        if not state or "waiting" in state:
            return 0
        return self.kubectl("logs", pod).count(f'"name":"{event}"')

    def await_events(self, pod: str, event: str, count: int = 1) -> None:
        """Return when a tool printed an event so often."""
        wait_until(
            lambda: self.count_events(pod, event) >= count,
            SECONDS,
            lambda: f"{count} {event} of {pod}, there are {self.count_events(pod, event)}",
        )

    def await_end(self, pod: str) -> int:
        """Return the exit code of a tool, once it ended."""
        ended = wait_until(
            lambda: self._state(pod).get("terminated"), SECONDS, f"the end of pod {pod}"
        )
        return int(ended["exitCode"])

    def stop(self, pod: str) -> None:
        """End a tool in order and keep what it printed: SIGTERM, the pod stays."""
        self.kubectl("exec", pod, "--", "/bin/bash", "-c", "kill -TERM 1")
        self.await_end(pod)

    def save(self, pod: str, path: Path) -> None:
        """Write what a tool printed to a file."""
        path.write_text(self.kubectl("logs", pod), encoding="utf-8")

    def _state(self, pod: str) -> dict[str, Any]:
        statuses = self.kubectl.get("pod", pod)["status"].get("containerStatuses", [])
        state: dict[str, Any] = statuses[0]["state"] if statuses else {}
        return state
