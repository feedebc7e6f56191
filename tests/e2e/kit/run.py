"""One test resource under test: applied, watched, read."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from kit.wait import wait_until

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

ROOT = Path(__file__).resolve().parents[3]
LABEL = "kafkaresilience.dev/test-uid"
PHASES = (
    "Pending",
    "Provisioning",
    "Warmup",
    "Injecting",
    "Draining",
    "Scoring",
    "CleaningUp",
    "Completed",
)
"""The phases of a run that nothing stops, in order."""


def manifest(path: str, name: str | None = None) -> dict[str, Any]:
    """Return the resource of a file under the repository, renamed if asked."""
    resource: dict[str, Any] = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
    if name is not None:
        resource["metadata"]["name"] = name
    return resource


def score(path: Path, out: Path, *options: str) -> None:
    """Score the bundle (or what ``options`` name) at ``path`` on this machine, as users do.

    Args:
        path: the bundle.
        out: the file for the scorecard; nothing is written into the bundle.
        options: of ``krt-score``.
    """
    command = ["hack/uv", "run", "--frozen", "krt-score", *options, str(path), "--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=400)


def watch(run: Run) -> subprocess.CompletedProcess[str]:
    """Follow a run with ``krt watch``, as users do; its exit code follows the verdict."""
    command = ["hack/uv", "run", "--frozen", "krt", "watch", run.name]
    command += ["--namespace", run.kubectl.namespace]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False
    )


def small(name: str, **spec: Any) -> dict[str, Any]:
    """Return the smallest complete run: one broker, one ZooKeeper node, a little traffic, a fault.

    Args:
        name: name of the resource.
        spec: children of spec that replace the small ones.
    """
    return {
        "apiVersion": "kafkaresilience.dev/v1alpha1",
        "kind": "KafkaResilienceTest",
        "metadata": {"name": name},
        "spec": {
            "kafka": {"replicas": 1, "config": {"min.insync.replicas": "1"}},
            "zookeeper": {"replicas": 1},
            "topics": [{"name": "foo", "partitions": 1, "replicationFactor": 1}],
            "traffic": {
                "producers": [{"name": "p", "topic": "foo", "recordsPerSecond": 50}],
                "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
            },
            "warmup": "5s",
            "faults": [
                {
                    "name": "consumer-gone",
                    "delay": "1s",
                    "action": "DeletePod",
                    "target": {"role": "Consumer", "count": 1},
                    "duration": "0s",
                }
            ],
            **spec,
        },
    }


@dataclass(frozen=True, slots=True)
class Run:
    """A test resource in the cluster.

    Attributes:
        kubectl: bound to its namespace.
        name: its name.
        uid: its uid, which labels everything it owns.
        copy: where its evidence was copied to; None while it is on the host's volume.
    """

    kubectl: Kubectl
    name: str
    uid: str
    copy: Path | None = None

    @classmethod
    def apply(cls, kubectl: Kubectl, resource: dict[str, Any]) -> Run:
        """Apply ``resource`` and return the run it starts."""
        kubectl.apply(resource)
        name = resource["metadata"]["name"]
        return cls(kubectl, name, kubectl.get("krt", name)["metadata"]["uid"])

    @property
    def status(self) -> dict[str, Any]:
        """The present status."""
        found: dict[str, Any] = self.kubectl.get("krt", self.name).get("status", {})
        return found

    def condition(self, kind: str) -> dict[str, Any]:
        """Return a condition, or an empty one where it is not set."""
        for condition in self.status.get("conditions", []):
            if condition["type"] == kind:
                found: dict[str, Any] = condition
                return found
        return {}

    def finish(self, within: float = 420) -> dict[str, Any]:
        """Wait as CI does, with ``kubectl wait``, and return the final status."""
        self.kubectl(
            "wait",
            f"krt/{self.name}",
            "--for=condition=Finished",
            f"--timeout={within:.0f}s",
            timeout=within + 10,
        )
        return self.status

    def reach(self, phase: str, within: float = 240) -> None:
        """Wait until the run is in ``phase`` (or fail at once when it ended before it)."""

        def reached() -> bool:
            now = self.status.get("phase")
            if now != phase and now in ("Completed", "Error", "Aborted"):
                raise AssertionError(f"{self.name} ended as {now} before {phase}: {self.status}")
            return now == phase

        wait_until(
            reached, within, lambda: f"{self.name} in {phase}; it is in {self.status.get('phase')}"
        )

    def phases(self) -> list[str]:
        """Return the names of the phases gone through, in order."""
        return [phase["name"] for phase in self.status["phases"]]

    def remaining(self) -> list[str]:
        """Return the objects of this run that are still in the namespace."""
        kinds = (
            "pods,statefulsets,services,configmaps,jobs,persistentvolumeclaims,"
            "serviceaccounts,rolebindings,poddisruptionbudgets,secrets"
        )
        listed = self.kubectl("get", kinds, "-l", f"{LABEL}={self.uid}", "-o", "name")
        return listed.split()

    def copied(self, folder: Path) -> Run:
        """Copy the evidence into ``folder`` with ``krt evidence``; return the run with it."""
        command = ["hack/uv", "run", "--frozen", "krt", "evidence", self.name, "-o", str(folder)]
        command += ["--namespace", self.kubectl.namespace]
        subprocess.run(command, cwd=ROOT, check=True, timeout=300)
        return replace(self, copy=folder)

    @property
    def bundle(self) -> Path:
        """Where the evidence lies on the host."""
        if self.copy is not None:
            return self.copy
        home = Path(os.environ["KRT_E2E_EVIDENCE"])
        tail = f"{self.kubectl.namespace}/{self.name}/{self.uid}"
        found = [*home.glob(f"*/{tail}"), *home.glob(tail)]
        assert found, f"no bundle {tail} under {home}"
        return found[0]

    def scorecard(self) -> dict[str, Any]:
        """Return the scorecard from the evidence volume."""
        card: dict[str, Any] = json.loads((self.bundle / "scorecard.json").read_text("utf-8"))
        return card

    def verified_kinds(self) -> dict[str, set[str]]:
        """Return the kinds of observations of each fault that is verified, by its name."""
        return {
            fault["name"]: {item["kind"] for item in fault["observations"]}
            for fault in self.status["faults"]
            if fault["verified"]
        }

    def member_logs(self, kind: str) -> list[str]:
        """Return the logs of the first container of each member: ``kafka`` or ``zk``."""
        found = (self.bundle / "logs").glob(f"{self.name}-{kind}-?-0-*.log")
        return [path.read_text() for path in found]

    def timeline(self, source: str) -> list[dict[str, Any]]:
        """Return the timeline's events of one source, by time."""
        events = [
            json.loads(line)
            for path in sorted((self.bundle / "timeline").glob("*.jsonl"))
            for line in path.read_text("utf-8").splitlines()
        ]
        return sorted(
            (event for event in events if event["source"] == source), key=lambda e: e["at"]
        )
