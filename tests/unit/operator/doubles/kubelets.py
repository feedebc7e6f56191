"""Kubelets, the controller manager and the scheduler of a world, with its clock.

Pods start after a while, follow the control ConfigMap, are signalled by ephemeral containers and
end; StatefulSets keep one pod, Jobs start one; claims are bound, and stay while a pod uses them.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.unit.operator.doubles.objects import copied, node, read

from krt_contract.control import BOUNDED
from krt_contract.labels import (
    ANNOTATION_TOPICS_READ,
    KIND,
    LABEL_COMPONENT,
    LABEL_MEMBER,
    LABEL_TEST,
    LABEL_TEST_UID,
    owner_reference,
)
from krt_operator import names
from krt_operator.api.times import to_micros

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from krt_contract.entries import Topic
    from krt_operator.engine.views import Json

NAMESPACE, TEST, UID = "ns", "t", "uid-t"
START = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
BINDING = timedelta(seconds=3)
"""From a claim's creation until it is bound."""
STARTED = timedelta(seconds=2)
"""From a pod's creation until it runs and is ready."""
BACK_OFF = timedelta(seconds=13)
"""From when volumes could not be mounted until kubelet tries again, unless the pod changes."""
RESTARTED = timedelta(seconds=1)
"""From a process' end until kubelet has started it again in its pod."""
SESSION = timedelta(seconds=6)
"""From a broker's last sign of life until ZooKeeper lets its session expire."""
COPIED = timedelta(seconds=5)
"""From a reassignment until the new replicas are in sync and the old ones gone."""
SCORED = timedelta(seconds=20)
RESULT = {"verdict": "Passed", "score": 98.7, "summary": "nothing lost", "ledger": {"acked": 7}}
DUMPED = {"kind": "replicas", "counts": {"replicas": 2, "rows": 10, "problems": 0}, "error": None}


class Serial:
    """Numbers from 1; unlike an iterator of itertools it can be copied."""

    def __init__(self) -> None:
        self.last = 0

    def __next__(self) -> int:
        self.last += 1
        return self.last


class Kubelets:
    """The objects of a namespace and what happens to them without a call to the API server."""

    def __init__(self) -> None:
        self.time = START
        self.versions = Serial()
        self.serials = Serial()
        self.objects: dict[tuple[str, str], Json] = {}
        self.topics: dict[str, Topic] = {}
        self.written = 0.0
        self.pods_refused = ""
        """Why pods of StatefulSets and Jobs are refused; empty where they are not."""
        self.result: tuple[int, str] = (0, json.dumps(RESULT))
        self.publishes = True
        self.notes_topics_read = True
        self.dumped: tuple[int, str] = (0, json.dumps(DUMPED))
        self.preflight: tuple[int, str] | None = (0, "shared")
        self.binding_mode = "Immediate"
        self.binding = BINDING
        self.terminating = timedelta()
        """From the deletion of a running pod until it is gone."""
        self.stuck: set[str] = set()
        self.frozen: dict[str, datetime] = {}
        """Pods whose process is stopped, since when."""
        self.thaws: dict[tuple[str, str], timedelta] = {}
        """Pod and container that will continue its process, to how long after it was stopped."""
        self.fell: dict[int, datetime] = {}
        """Brokers that do not run to when ZooKeeper last heard of them."""
        self.replicas: dict[tuple[str, int], tuple[int, ...]] = {}
        """Partitions that were reassigned to their replicas."""
        self.moves: dict[tuple[str, int], tuple[datetime, tuple[int, ...]]] = {}
        self.roots: dict[str, str] = {}
        """Uid of an object to that of the test that it belongs to, by its owners."""
        self.injected: list[tuple[str, str]] = []
        """What was done to which pod, claim or partition while faults were injected, in order."""
        self.created: Counter[tuple[str, str]] = Counter()
        """How often an object of this kind and name was created, but for pods that StatefulSets
        start while members are deleted: their pods go first, so that a call that fails in between
        leaves a StatefulSet without its pod."""
        self.unschedulable: set[str] = set()
        self.unmounted: set[str] = set()
        """Pods whose claims kubelet asks for too early."""
        self.failing: dict[str, Callable[[int], Json]] = {}
        """Pod to how its container ends, by the number of its start from 1."""
        self.dying: dict[str, tuple[int, str]] = {}
        """Pod that is not restarted in place to how it ends as soon as it has started."""
        self.nodes = [node(f"n{i}", f"zone-{'abc'[i % 3]}") for i in range(6)]

    # --- what is there --------------------------------------------------------------------------

    def put(self, obj: Json) -> Json:
        stored = copied(obj)
        key = (stored["kind"], stored["metadata"]["name"])
        there = self.objects.get(key)
        meta = stored["metadata"]
        meta["resourceVersion"] = str(next(self.versions))
        old = {} if there is None else there["metadata"]
        meta.setdefault("uid", old.get("uid") or f"uid-{next(self.serials)}")
        for kept in ("creationTimestamp", "deletionTimestamp"):
            if kept in old:
                meta[kept] = old[kept]
        meta.setdefault("creationTimestamp", self.time.strftime("%Y-%m-%dT%H:%M:%SZ"))
        if there is not None:
            kept_fields = {"status", "born", "driver"}
            stored = {**{k: v for k, v in there.items() if k in kept_fields}, **stored}
        elif self._counts(stored):
            self.created[key] += 1
        self.objects[key] = stored
        above = [self.roots.get(owner["uid"], "") for owner in meta.get("ownerReferences", [])]
        self.roots[meta["uid"]] = meta["uid"] if stored["kind"] == KIND else "".join(above)
        if stored["kind"] == "PersistentVolumeClaim" and there is None:
            stored |= {"status": {"phase": "Pending"}, "born": self.time}
        if stored["kind"] == "Pod" and there is None:
            stored["status"] = {"phase": "Pending"}
            stored["born"] = self.time
            stored["spec"]["nodeName"] = f"node-of-{key[1]}"
            self._schedule(stored)
        return copied(stored)

    def _counts(self, obj: Json) -> bool:
        owners = {one.get("kind") for one in obj["metadata"].get("ownerReferences", [])}
        test = self.objects.get((KIND, TEST), {}).get("status", {})
        return "StatefulSet" not in owners or test.get("phase") not in {"Scoring", "CleaningUp"}

    def remove(self, kind: str, name: str) -> None:
        """Take an object away; what runs in a pod ends with it."""
        obj = self.objects.pop((kind, name))
        if kind != "Pod":
            return
        self.frozen.pop(name, None)
        member = obj["metadata"].get("labels", {}).get(LABEL_MEMBER, "")
        if member.startswith("kafka-") and obj["status"]["phase"] == "Running":
            # A broker that is shut down closes its session.
            self.fell.setdefault(int(member.removeprefix("kafka-")), self.time - SESSION)

    def select(self, kind: str, labels: Mapping[str, str] | None = None) -> Sequence[Json]:
        if kind == "Node":
            return copied(self.nodes)
        return [
            read(one)
            for (of, _), one in self.objects.items()
            if of == kind and (labels or {}).items() <= one["metadata"].get("labels", {}).items()
        ]

    def control(self, test: str = TEST) -> str:
        found = self.objects.get(("ConfigMap", names.control(test)))
        return "Wait" if found is None else str(found["data"].get("state", "Wait"))

    def up(self, component: str) -> Sequence[Json]:
        """The running pods of a component."""
        return [
            one
            for (kind, _), one in self.objects.items()
            if kind == "Pod"
            and one["metadata"].get("labels", {}).get(LABEL_COMPONENT) == component
            and one["status"]["phase"] == "Running"
        ]

    def serving(self, component: str) -> Sequence[Json]:
        """Those of them whose process runs, and is to run on."""
        return [
            pod
            for pod in self.up(component)
            if "dead" not in pod
            and pod["metadata"]["name"] not in self.frozen
            and "deletionTimestamp" not in pod["metadata"]
        ]

    def silent_brokers(self) -> frozenset[int]:
        """Brokers whose ZooKeeper session has expired."""
        frozen = {
            int(pod["metadata"]["labels"][LABEL_MEMBER].removeprefix("kafka-")): self.frozen[name]
            for pod in self.up("kafka")
            if (name := pod["metadata"]["name"]) in self.frozen
        }
        return frozenset(
            broker for broker, at in {**frozen, **self.fell}.items() if self.time >= at + SESSION
        )

    def over(self, pod: str) -> bool:
        """Whether the pod has ended, or is gone."""
        found = self.objects.get(("Pod", pod))
        return found is None or found["status"]["phase"] in {"Succeeded", "Failed"}

    # --- time -----------------------------------------------------------------------------------

    def elapse(self, seconds: float) -> None:
        """Let time pass in ticks that are short enough for nothing to be missed."""
        while seconds > 0:
            self.tick(min(seconds, 1.0))
            seconds -= 1.0

    def tick(self, seconds: float) -> None:
        step = timedelta(seconds=seconds)
        if self.control() == "Produce" and self.up("producer"):
            self.written += 100 * seconds
        self.time += step
        self._run_controllers()
        self._collect_garbage()
        for (kind, name), pod in list(self.objects.items()):
            if kind == "Pod":
                self._kubelet(name, pod)
        self._thaw_due()
        self._release_claims()
        for key, (done, replicas) in list(self.moves.items()):
            if self.time >= done:
                self.replicas[key] = replicas
                del self.moves[key]
        for pod in self.serving("kafka") if self.fell else ():
            self.fell.pop(int(pod["metadata"]["labels"][LABEL_MEMBER].removeprefix("kafka-")), None)

    def _collect_garbage(self) -> None:
        alive = {one["metadata"]["uid"] for one in self.objects.values()}
        for (kind, name), obj in list(self.objects.items()):
            owners = obj["metadata"].get("ownerReferences", [])
            if owners and not any(one["uid"] in alive for one in owners):
                self.remove(kind, name)

    def _run_controllers(self) -> None:
        for (kind, name), obj in list(self.objects.items()):
            if kind == "StatefulSet":
                self._keep_pod(name, obj)
            if kind == "Job":
                self._keep_driver(name, obj)
            if kind == "PersistentVolumeClaim":
                self._bind(obj)

    def _schedule(self, pod: Json) -> None:
        """Put a pod aside whose shared claim is not bound: its binding escapes the scheduler.

        A member's own claim waits for its pod, as the class of most clusters does.
        """
        for volume in pod["spec"].get("volumes", []):
            name = volume.get("persistentVolumeClaim", {}).get("claimName")
            claim = self.objects.get(("PersistentVolumeClaim", name))
            if name is None or (claim and "ReadWriteMany" not in claim["spec"]["accessModes"]):
                continue
            if claim and self.binding_mode == "WaitForFirstConsumer":
                claim["status"]["phase"] = "Bound"
            elif claim is None or claim["status"]["phase"] != "Bound":
                self.unschedulable.add(pod["metadata"]["uid"])

    def _bind(self, claim: Json) -> None:
        waits = self.binding_mode == "WaitForFirstConsumer"
        if not waits and self.time - claim["born"] >= self.binding:
            claim["status"]["phase"] = "Bound"

    def claim_in_use(self, claim: str) -> bool:
        return any(
            volume.get("persistentVolumeClaim", {}).get("claimName") == claim
            for (kind, _), pod in self.objects.items()
            if kind == "Pod"
            for volume in pod["spec"].get("volumes", [])
        )

    def _release_claims(self) -> None:
        """The finalizer kubernetes.io/pvc-protection: a claim goes when no pod uses it."""
        for (kind, name), obj in list(self.objects.items()):
            leaving = kind == "PersistentVolumeClaim" and "deletionTimestamp" in obj["metadata"]
            if leaving and not self.claim_in_use(name):
                self.remove(kind, name)

    # --- controllers ----------------------------------------------------------------------------

    def end(self, name: str, code: int, message: str = "") -> None:
        """End a pod's container."""
        pod = self.objects["Pod", name]
        before = pod["status"].get("containerStatuses", [{}])[0].get("state", {})
        ended = {
            **before.get("running", {}),
            "exitCode": code,
            "message": message,
            "finishedAt": self.time.isoformat(),
        }
        kept = {k: v for k, v in pod["status"].items() if k == "ephemeralContainerStatuses"}
        pod["status"] = {
            **kept,
            "phase": "Failed" if code else "Succeeded",
            "containerStatuses": [
                {"name": pod["spec"]["containers"][0]["name"], "state": {"terminated": ended}}
            ],
        }
        for (kind, _), job in self.objects.items():
            owners = [one["uid"] for one in pod["metadata"].get("ownerReferences", [])]
            if kind == "Job" and job["metadata"]["uid"] in owners:
                type_ = "Failed" if code else "Complete"
                job["status"] = {"conditions": [{"type": type_, "status": "True"}]}

    def _keep_pod(self, name: str, obj: Json) -> None:
        pod = f"{name}-0"
        wanted = obj["spec"]["replicas"] == 1 and not self.pods_refused
        there = self.objects.get(("Pod", pod))
        if wanted and there is None:
            template = obj["spec"]["template"]
            owner = {"uid": obj["metadata"]["uid"], "kind": "StatefulSet", "name": name}
            meta = {"name": pod, "labels": template["metadata"]["labels"]}
            self.put(
                {
                    "kind": "Pod",
                    "metadata": {**meta, "ownerReferences": [owner]},
                    "spec": copy.deepcopy(template["spec"]),
                }
            )
        elif obj["spec"]["replicas"] == 0 and there is not None:
            self.terminate(pod)

    def _keep_driver(self, name: str, job: Json) -> None:
        if job.get("driver") or self.pods_refused:
            return
        job["driver"] = True
        template = job["spec"]["template"]
        owner = {"uid": job["metadata"]["uid"], "kind": "Job", "name": name}
        self.put(
            {
                "kind": "Pod",
                "metadata": {
                    "name": f"{name}-x",
                    "labels": template["metadata"]["labels"],
                    "ownerReferences": [owner],
                },
                "spec": copy.deepcopy(template["spec"]),
            }
        )

    def terminate(self, name: str, *, at_once: bool = False) -> bool:
        """Delete a pod; False where it is being deleted already."""
        pod = self.objects["Pod", name]
        if at_once or not self.terminating or pod["status"]["phase"] != "Running":
            self.remove("Pod", name)
            return True
        if "deletionTimestamp" in pod["metadata"]:
            return False
        pod["metadata"]["deletionTimestamp"] = self.time.strftime("%Y-%m-%dT%H:%M:%SZ")
        pod["gone"] = self.time + self.terminating
        return True

    # --- kubelets -------------------------------------------------------------------------------

    def _may_end(self, test: str, consumer: str) -> bool:
        transforms = any(
            one.get("output") and consumer.startswith(f"{test}-consumer-{one['name']}-")
            for one in self.objects[KIND, test]["spec"]["traffic"]["consumers"]
        )
        ends = {"DrainTransforms"} if transforms else {"Drain"}
        return self.control(test) in {*ends, "Abort"}

    def _kubelet(self, name: str, pod: Json) -> None:
        if "gone" in pod and self.time >= pod["gone"]:
            self.remove("Pod", name)
            return
        age, phase = self.time - pod["born"], pod["status"]["phase"]
        if name in self.stuck or phase in {"Succeeded", "Failed"}:
            return
        if phase == "Pending" and name in self.unmounted and not self._mount(pod):
            return
        if pod["metadata"]["uid"] in self.unschedulable:
            refused = {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "no node",
                "lastTransitionTime": pod["born"].isoformat(),
            }
            pod["status"] = {"phase": "Pending", "conditions": [refused]}
            return
        if name in self.failing and phase == "Pending" and age >= STARTED:
            self._crash_loop(pod, self.failing[name])
            return
        if name in self.dying and age >= STARTED:
            pod["status"]["containerStatuses"] = [
                {"state": {"running": {"startedAt": self.time.isoformat()}}}
            ]
            self.end(name, *self.dying[name])
            return
        if phase == "Pending" and age >= STARTED:
            pod["status"] = {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"state": {"running": {"startedAt": self.time.isoformat()}}}],
            }
        elif phase == "Running":
            if "back" in pod and self.time >= pod["back"]:
                del pod["back"], pod["dead"]
                pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            self._work(name, pod, age)

    def _mount(self, pod: Json) -> bool:
        """Whether the pod has its volumes: at kubelet's second try, not at its first."""
        second = pod.get("changed", pod["born"] + BACK_OFF)
        if self.time >= second + STARTED:
            return True
        pod["status"] = {"phase": "Pending", "conditions": not_mounted(pod["born"])}
        return False

    def _work(self, name: str, pod: Json, age: timedelta) -> None:
        """End a pod whose work is done."""
        test = pod["metadata"]["labels"].get(LABEL_TEST, TEST)
        component = pod["metadata"]["labels"].get(LABEL_COMPONENT)
        control = self.control(test)
        endings: dict[str, Callable[[], tuple[int, str] | None]] = {
            "preflight": lambda: self.preflight,
            "producer": lambda: (0, "stopped") if control not in {"Wait", "Produce"} else None,
            "consumer": lambda: (0, "drained") if self._may_end(test, name) else None,
            "recorder": lambda: (0, "stopped") if control in {"Done", "Score", "Abort"} else None,
            "scoring": lambda: self.result if control == "Score" and age >= SCORED else None,
            "tool": lambda: self._run_tool(pod),
        }
        if component == "scoring" and control in BOUNDED and self.notes_topics_read:
            pod["metadata"].setdefault("annotations", {})[ANNOTATION_TOPICS_READ] = "true"
        over = endings.get(str(component), lambda: None)()
        if over is not None and name not in self.frozen:
            if component == "scoring" and self.publishes:
                self.put(_scorecard(test, pod))
            self.end(name, *over)

    def _run_tool(self, pod: Json) -> tuple[int, str]:
        env = {one["name"]: one.get("value") for one in pod["spec"]["containers"][0].get("env", [])}
        if "KRT_MOVES" not in env:
            return self.dumped
        for move in json.loads(str(env["KRT_MOVES"]))["partitions"]:
            self.injected.append(("reassign", f"{move['topic']}-{move['partition']}"))
            place = move["topic"], move["partition"]
            self.moves[place] = (self.time + COPIED, tuple(move["replicas"]))
        return (0, json.dumps({"krt": "tool", "at": to_micros(self.time)}))

    def signalled(self, pod: Json, container: Json) -> None:
        """Do at once what an ephemeral container does within a second."""
        name = pod["metadata"]["name"]
        match container["command"][container["command"].index("signal.sh") + 1 :]:
            case ["KILL", _, *mode]:
                self.injected.append(("kill", name))
                self._report(pod, container["name"], "killed", self.time)
                self._kill(pod, hold=mode == ["hold"])
            case ["STOP", *_]:
                self.injected.append(("freeze", name))
                self.frozen[name] = self.time
                self._report(pod, container["name"], "frozen", self.time)
            case ["CONT", _]:
                self.frozen.pop(name, None)
                self._report(pod, container["name"], "thawed", self.time)
            case ["CONT", _, seconds]:
                self.thaws[name, container["name"]] = timedelta(seconds=float(seconds))
            case other:
                raise AssertionError(other)

    def _kill(self, pod: Json, *, hold: bool) -> None:
        name = pod["metadata"]["name"]
        if pod["spec"]["containers"][0]["name"] == "traffic":
            self.end(name, 137)
            return
        pod["dead"] = self.time
        pod["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
        if not hold:
            pod["back"] = self.time + RESTARTED
        member = pod["metadata"]["labels"][LABEL_MEMBER]
        if member.startswith("kafka-"):
            self.fell.setdefault(int(member.removeprefix("kafka-")), self.time)

    def _thaw_due(self) -> None:
        for (name, container), wait in list(self.thaws.items()):
            since, pod = self.frozen.get(name), self.objects.get(("Pod", name))
            if pod is None:
                del self.thaws[name, container]
            elif since is not None and self.time >= since + wait:
                del self.thaws[name, container]
                del self.frozen[name]
                self._report(pod, container, "thawed", since + wait)

    @staticmethod
    def _report(pod: Json, container: str, event: str, at: datetime) -> None:
        message = json.dumps({"krt": "member", "event": event, "at": to_micros(at)})
        ended = {"terminated": {"exitCode": 0, "message": message}}
        statuses = pod["status"].setdefault("ephemeralContainerStatuses", [])
        statuses.append({"name": container, "state": ended})

    def _crash_loop(self, pod: Json, end: Callable[[int], Json]) -> None:
        """Restart a container that ends as soon as it has started, as kubelet does.

        At once, then after 10 s, 20 s, 40 s and so on.
        """
        loop = pod.setdefault("loop", {"number": 0, "next": self.time})
        if self.time < loop["next"]:
            return
        loop["number"] += 1
        delay = 10 * 2 ** (loop["number"] - 2) if loop["number"] > 1 else 0
        loop["next"] = self.time + STARTED + timedelta(seconds=delay)
        back_off = {
            "reason": "CrashLoopBackOff",
            "message": f"back-off {delay}s restarting failed container",
        }
        pod["status"] = {
            "phase": "Pending",
            "conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [
                {
                    "name": pod["spec"]["containers"][0]["name"],
                    "ready": False,
                    "restartCount": loop["number"] - 1,
                    "state": {"waiting": back_off},
                    "lastState": {"terminated": end(loop["number"])},
                }
            ],
        }


def _scorecard(test: str, driver: Json) -> dict[str, Any]:
    """Return what a driver publishes before it ends."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{test}-scorecard",
            "namespace": NAMESPACE,
            "labels": dict(driver["metadata"]["labels"]),
            "ownerReferences": [
                owner_reference(test, driver["metadata"]["labels"][LABEL_TEST_UID])
            ],
        },
        "data": {"scorecard.json": "{}"},
    }


def not_mounted(scheduled: datetime) -> list[Json]:
    """Return the conditions of a pod whose volumes are not mounted, scheduled at that time."""
    since = scheduled.strftime("%Y-%m-%dT%H:%M:%SZ")
    return [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": since},
        {"type": "PodReadyToStartContainers", "status": "False", "lastTransitionTime": since},
    ]
