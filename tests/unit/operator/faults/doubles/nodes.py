"""The nodes of the simulated cluster: pods, claims, Jobs and what runs in them, with a clock."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from krt_contract.labels import LABEL_MEMBER
from krt_operator import names
from krt_operator.api.times import to_micros

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan
    from krt_operator.engine.progress import Deletion
    from krt_operator.engine.views import Json

START = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
SESSION = timedelta(seconds=6)
BACK = timedelta(seconds=8)
"""From a pod's creation until it is ready and its broker in every ISR."""
GRACE = timedelta(seconds=10)
"""What a pod has to end in after it was deleted."""
TOOL = timedelta(seconds=3)
"""From a Job's creation until its tool has ended."""
COPIED = timedelta(seconds=5)
"""From a reassignment until the new replicas are in sync and the old ones gone."""


class SimulatedNodes:
    """What kubelets and controllers do; it lists what was done to which pod, for the tests."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.time = START
        self.serial = 0
        self.pods: dict[str, Json] = {}
        self.sets: dict[str, int] = {}
        self.claims: dict[str, Json] = {}
        self.jobs: dict[str, Json] = {}
        self.moves: dict[int, tuple[datetime, tuple[int, ...]]] = {}
        self.replicas = dict(plan.topics[0].assignment)
        self.tool: tuple[int, str] | None = None
        self.fell: dict[int, datetime] = {}
        self.kills: list[str] = []
        self.frozen: dict[str, datetime] = {}
        self.freezes: list[str] = []
        self.thaws: dict[tuple[str, str], timedelta] = {}
        self.thaw_works = True
        self.deleted: list[str] = []
        self.evicted: list[str] = []
        self.wiped: list[str] = []
        self.ephemeral_works = True
        self.misses: dict[str, int] = {}
        self.unreachable: set[str] = set()
        """Pods whose node died: one that is deleted stays, being deleted."""
        for member in plan.members:
            self.sets[names.of_member("t", member.member)] = 1
            self.start_pod(member.pod, member.kind, member.member, -BACK)
            self._make_claim(names.member_claim("t", member.member))
        self.start_pod("t-producer-a-0", "traffic", "producer-a-0", -BACK)
        self.start_pod("t-recorder", "recorder", "recorder", -BACK)
        for i in range(2):
            self.start_pod(f"t-consumer-c-{i}", "traffic", f"consumer-c-{i}", -BACK)

    def run_jobs(self) -> None:
        """Let the tools of Jobs end, and Kafka the copying that they asked for."""
        for name, job in self.jobs.items():
            if f"{name}-x" in self.pods or self.time < job["born"] + TOOL:
                continue
            at = self.time
            container = job["spec"]["template"]["spec"]["containers"][0]
            moves = json.loads(container["env"][0]["value"])
            code, message = self.tool or (0, f'{{"krt":"tool","at":{to_micros(at)}}}')
            for move in moves["partitions"] if code == 0 else ():
                self.moves[move["partition"]] = (at + COPIED, tuple(move["replicas"]))
            self.start_pod(f"{name}-x", "tool", "tool", timedelta())
            pod = self.pods[f"{name}-x"]
            pod["metadata"]["ownerReferences"] = [{"uid": job["metadata"]["uid"]}]
            ended = {"exitCode": code, "message": message}
            pod["status"] = {
                "phase": "Failed" if code else "Succeeded",
                "containerStatuses": [{"state": {"terminated": ended}}],
            }
        for number, (done, replicas) in list(self.moves.items()):
            if self.time >= done:
                self.replicas[number] = replicas
                del self.moves[number]

    def _thaw(self, pod: Json, container: str, at: datetime) -> None:
        self.frozen.pop(pod["metadata"]["name"], None)
        self._report(pod, container, "thawed", at)

    def _thaw_due(self) -> None:
        for (name, container), wait in list(self.thaws.items()):
            since = self.frozen.get(name)
            if self.thaw_works and since is not None and self.time >= since + wait:
                del self.thaws[name, container]
                if name in self.pods:
                    self._thaw(self.pods[name], container, since + wait)

    @staticmethod
    def _report(pod: Json, container: str, event: str, at: datetime) -> None:
        message = f'{{"krt":"member","event":"{event}","at":{to_micros(at)},"member":"m","pid":7}}'
        ended = {"exitCode": 0, "message": message}
        pod["status"].setdefault("ephemeralContainerStatuses", []).append(
            {"name": container, "state": {"terminated": ended}}
        )

    def _signal(self, pod: Json, container: Json) -> None:
        name, command = pod["metadata"]["name"], container["command"]
        if self.misses.get(name, 0) and "CONT" not in command:
            self.misses[name] -= 1
            ended = {"exitCode": 3, "message": "no process java to signal"}
            pod["status"].setdefault("ephemeralContainerStatuses", []).append(
                {"name": container["name"], "state": {"terminated": ended}}
            )
            return
        match command[command.index("signal.sh") + 1 :]:
            case ["KILL", *_]:
                self._kill(pod, container)
            case ["STOP", *_]:
                self.freezes.append(name)
                self.frozen[name] = self.time + timedelta(milliseconds=300)
                self._report(pod, container["name"], "frozen", self.frozen[name])
            case ["CONT", _, seconds]:
                self.thaws[name, container["name"]] = timedelta(seconds=float(seconds))
            case ["CONT", _]:
                self._thaw(pod, container["name"], self.time)
            case other:
                raise AssertionError(other)

    def _kill(self, pod: Json, container: Json) -> None:
        self.kills.append(pod["metadata"]["name"])
        at = self.time + timedelta(milliseconds=300)
        self._report(pod, container["name"], "killed", at)
        pod["metadata"]["created"] = self.time
        if pod["spec"]["containers"][0]["name"] == "traffic":
            pod["status"]["phase"] = "Failed"
            pod["status"]["containerStatuses"] = [{"state": {"terminated": {"exitCode": 137}}}]
        self._fall(pod)

    def start_pod(self, name: str, kind: str, member: str, ago: timedelta) -> None:
        """Start a pod as if it had been created at now plus `ago`."""
        self.serial += 1
        mounts = [] if kind == "traffic" else [{"name": "run", "mountPath": "/run/krt"}]
        self.pods[name] = {
            "metadata": {
                "name": name,
                "uid": f"uid-{self.serial}",
                "labels": {LABEL_MEMBER: member},
                "created": self.time + ago,
            },
            "spec": {
                "nodeName": f"node-{member}",
                "containers": [{"name": kind, "image": "image:1", "volumeMounts": mounts}],
            },
            "status": {
                "phase": "Running",
                "podIP": f"10.0.0.{self.serial}",
                "containerStatuses": [{"state": {"running": {}}}],
                "conditions": [{"type": "Ready", "status": str(ago < timedelta())}],
            },
        }

    def _begin_deletion(self, name: str) -> None:
        pod = self.pods[name]
        pod["metadata"].setdefault("deletionTimestamp", (self.time + GRACE).isoformat())
        self._fall(pod)

    def _remove(self, name: str) -> None:
        pod = self.pods.pop(name)
        self.frozen.pop(name, None)
        self._fall(pod)

    def _fall(self, pod: Json) -> None:
        member = pod["metadata"]["labels"][LABEL_MEMBER]
        if member.startswith("kafka-"):
            self.fell.setdefault(int(member.removeprefix("kafka-")), self.time)

    def _ready(self, pod: Json) -> bool:
        going = "deletionTimestamp" in pod["metadata"]
        running = pod["status"]["phase"] == "Running" and not going
        return running and bool(self.time - pod["metadata"]["created"] >= BACK)

    def joined(self, name: str) -> bool:
        """Whether a consumer's pod is in its group: up, and not frozen beyond its session."""
        since = self.frozen.get(name)
        return self.is_up(name) and (since is None or self.time < since + SESSION)

    def is_up(self, name: str) -> bool:
        """Whether a pod exists and is ready."""
        return name in self.pods and self._ready(self.pods[name])

    def _make_claim(self, name: str) -> None:
        self.serial += 1
        self.claims[name] = {"metadata": {"name": name, "uid": f"uid-{self.serial}"}}

    def _delete_claim(self, deletion: Deletion) -> bool:
        claim = self.claims.get(deletion.name)
        if claim is None or deletion.uid not in (None, claim["metadata"]["uid"]):
            return False
        claim["metadata"]["deletionTimestamp"] = "2026-11-21T04:00:00Z"
        return True

    def release_claims(self) -> None:
        """The finalizer kubernetes.io/pvc-protection: a claim goes when no pod uses it."""
        for member in self.plan.members:
            name = names.member_claim("t", member.member)
            going = "deletionTimestamp" in self.claims.get(name, {}).get("metadata", {})
            if going and member.pod not in self.pods:
                del self.claims[name]
                self.wiped.append(member.member)
