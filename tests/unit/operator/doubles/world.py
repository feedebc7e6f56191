"""A double of the API server, the kubelets and the Kafka under test.

It has resource versions and conflicts, uid preconditions, names that are taken, owners and garbage
collection, StatefulSets that keep one pod, pods that start after a while and follow the control
ConfigMap, and Jobs whose pods end with a termination message.
"""

from __future__ import annotations

import copy
import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from tests.unit.operator.doubles.kafka import FakeKafka
from tests.unit.operator.doubles.objects import node, spec

from krt_contract.labels import API_VERSION, KIND, LABEL_COMPONENT
from krt_operator import names
from krt_operator.api.times import to_micros
from krt_operator.app.metrics import Metrics
from krt_operator.app.settings import Settings
from krt_operator.engine.ports import Ports
from krt_operator.engine.progress import Deletion, Eviction
from krt_operator.engine.reconcile import Reconciler
from krt_operator.errors import ConflictError, GoneError, RefusedError
from krt_operator.phases.failure import on_failure
from krt_operator.phases.steps import step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from krt_contract.entries import Topic
    from krt_operator.engine.views import Json

START = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
BINDING = timedelta(seconds=3)
"""From a claim's creation until it is bound."""
STARTED = timedelta(seconds=2)
"""From a pod's creation until it runs and is ready."""
SCORED = timedelta(seconds=20)
RESULT = {"verdict": "Passed", "score": 98.7, "summary": "nothing lost", "ledger": {"acked": 7}}
DUMPED = {"kind": "replicas", "counts": {"replicas": 2, "rows": 10, "problems": 0}, "error": None}
SETTINGS = Settings(
    image_operator="op:1",
    image_traffic="traffic:1",
    image_scoring="scoring:1",
    image_kafka="kafka:1",
    max_concurrent_tests=2,
)
NAMESPACE, TEST, UID = "ns", "t", "uid-t"


class Killed(BaseException):
    """The controller was killed here; it must not catch this."""


class World:
    """The cluster under one test resource (and whatever a test adds)."""

    def __init__(self, **changes: Any) -> None:
        self.name = TEST
        self.time = START
        self.versions = itertools.count(1)
        self.serials = itertools.count(1)
        self.objects: dict[tuple[str, str], Json] = {}
        self.events: list[Json] = []
        self.metrics = Metrics()
        self.topics: dict[str, Topic] = {}
        self.mutations = 0
        self.kill_at = 0
        self.before_write: Callable[[], object] | None = None
        self.answers: Callable[[str, str, str], Exception | None] = lambda *_: None
        """What a call with this verb, kind and name fails with; None where it succeeds."""
        self.errors: list[Exception] = []
        self.pods_refused = ""
        """Why pods of StatefulSets and Jobs are refused; empty where they are not."""
        self.conflicts = 0
        self.written = 0.0
        self.silent_kafka = False
        self.write_takes = 0.01
        self.bounds_take = 0.0
        self.restless_log = False
        self.result: tuple[int, str] = (0, json.dumps(RESULT))
        self.publishes = True
        self.dumped: tuple[int, str] = (0, json.dumps(DUMPED))
        self.preflight: tuple[int, str] | None = (0, "shared")
        self.binding_mode = "Immediate"
        self.binding = BINDING
        self.stuck: set[str] = set()
        self.frozen: set[str] = set()
        self.unschedulable: set[str] = set()
        self.failing: dict[str, Callable[[int], Json]] = {}
        """Pod to how its container ends, by the number of its start from 1."""
        self.dying: dict[str, tuple[int, str]] = {}
        """Pod that is not restarted in place to how it ends as soon as it has started."""
        self.nodes = [node(f"n{i}", f"zone-{'abc'[i % 3]}") for i in range(6)]
        self.classes = {"krt-evidence"}
        self.put(
            {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "metadata": {"name": TEST, "namespace": NAMESPACE, "uid": UID, "generation": 1},
                "spec": spec(**changes),
            }
        )

    # --- the controller -------------------------------------------------------------------------

    def controller(self, settings: Settings = SETTINGS) -> Reconciler:
        ports = Ports(
            cluster=self,
            clock=self,
            kafka=lambda _: FakeKafka(self),
            four_letter=lambda _host, _word: "Mode: leader",
            settings=settings,
        )
        return Reconciler(self, ports, self.metrics, step, on_failure)

    def run(
        self, until: str = "", seconds: float = 600, controller: Reconciler | None = None
    ) -> Json:
        """Pass after pass until the run is over, or in the phase `until`; returns the status."""
        engine = controller or self.controller()
        end = self.time + timedelta(seconds=seconds)
        while self.time < end:
            delay = engine.run_once(TEST)
            if delay is None or (until and self.status.get("phase") == until):
                return self.status
            self.tick(delay or 0.01)
        return self.status

    def run_on(self, until: str = "", seconds: float = 900, pause: float = 5) -> Json:
        """The same as `run`, with a pause after each pass that fails, as the daemon makes it."""
        engine = self.controller()
        end = self.time + timedelta(seconds=seconds)
        while self.time < end:
            try:
                delay = engine.run_once(TEST)
            except Exception as error:  # noqa: BLE001 - the daemon retries whatever it is
                self.errors.append(error)
                delay = pause
            if delay is None or (until and self.status.get("phase") == until):
                return self.status
            self.tick(delay or 0.01)
        return self.status

    def _call(self, verb: str, kind: str, name: str = "") -> None:
        error = self.answers(verb, kind, name)
        if error is not None:
            raise error

    @property
    def test(self) -> Json:
        return self.objects[KIND, TEST]

    @property
    def status(self) -> Json:
        found: Json = self.test.get("status", {})
        return found

    def condition(self, type_: str) -> Json:
        return next(one for one in self.status["conditions"] if one["type"] == type_)

    def phases(self) -> list[str]:
        return [one["name"] for one in self.status["phases"]]

    def names_of(self, kind: str) -> set[str]:
        return {name for (of, name) in self.objects if of == kind}

    # --- ports: clock, cluster, resources -------------------------------------------------------

    def now(self) -> datetime:
        return self.time

    def get(self, kind: str, name: str) -> Json | None:
        self._call("get", kind, name)
        if kind == "StorageClass":
            found = {"metadata": {"name": name}, "volumeBindingMode": self.binding_mode}
            return found if name in self.classes else None
        return copy.deepcopy(self.objects.get((kind, name)))

    def list(self, kind: str, labels: Mapping[str, str] | None = None) -> Sequence[Json]:
        self._call("list", kind)
        return self._select(kind, labels)

    def _select(self, kind: str, labels: Mapping[str, str] | None = None) -> Sequence[Json]:
        if kind == "Node":
            return copy.deepcopy(self.nodes)
        return [
            copy.deepcopy(one)
            for (of, _), one in self.objects.items()
            if of == kind and (labels or {}).items() <= one["metadata"].get("labels", {}).items()
        ]

    def tests(self) -> Sequence[Json]:
        return self.list(KIND)

    def apply(self, obj: Json) -> Json:
        self._call("apply", obj["kind"], obj["metadata"]["name"])
        with self.mutation():
            there = self.objects.get((obj["kind"], obj["metadata"]["name"]))
            wanted = obj["metadata"].get("resourceVersion")
            if wanted and (there is None or there["metadata"]["resourceVersion"] != wanted):
                self.conflicts += 1
                raise ConflictError("resourceVersion")
            if there is not None and obj["kind"] == "Pod":
                raise AssertionError(f"a pod's fields cannot be changed: {obj['metadata']['name']}")
            return self.put(obj)

    def create(self, obj: Json) -> Json:
        self._call("create", obj["kind"], obj["metadata"]["name"])
        with self.mutation():
            there = self.objects.get((obj["kind"], obj["metadata"]["name"]))
            return copy.deepcopy(there) if there is not None else self.put(obj)

    def check_create(self, obj: Json) -> None:
        self._call("check", obj["kind"], obj["metadata"]["name"])
        assert obj["spec"]["containers"]
        if self.pods_refused:
            raise RefusedError(self.pods_refused)

    def delete(self, deletion: Deletion) -> bool:
        self._call("delete", deletion.kind, deletion.name)
        with self.mutation():
            there = self.objects.get((deletion.kind, deletion.name))
            if there is None or deletion.uid not in {None, there["metadata"]["uid"]}:
                return False
            del self.objects[deletion.kind, deletion.name]
            return True

    def evict(self, deletion: Deletion) -> Eviction:
        pod = self.get("Pod", deletion.name)
        if pod is None or pod["metadata"]["uid"] != deletion.uid:
            return Eviction()
        labels = pod["metadata"]["labels"].items()
        for budget in self.list("PodDisruptionBudget"):
            chosen = budget["spec"]["selector"]["matchLabels"]
            there = [one for one in self.list("Pod", chosen) if one["status"]["phase"] == "Running"]
            wanted = budget["spec"]["minAvailable"]
            if chosen.items() <= labels and len(there) <= wanted:
                name = budget["metadata"]["name"]
                has = f"needs {wanted} healthy pods and has {len(there)} currently"
                return Eviction(refused=f"The disruption budget {name} {has}")
        return Eviction(evicted=self.delete(deletion))

    def add_ephemeral_container(self, pod: str, uid: str, container: Json) -> Json:
        with self.mutation():
            there = self.objects.get(("Pod", pod))
            if there is None or there["metadata"]["uid"] != uid:
                raise GoneError(pod)
            present = there["spec"].setdefault("ephemeralContainers", [])
            if all(one["name"] != container["name"] for one in present):
                present.append(copy.deepcopy(container))
                self._signalled(there, container)
            return copy.deepcopy(there)

    def _signalled(self, pod: Json, container: Json) -> None:
        """Freezing and thawing at once are what these tests need; both do so immediately."""
        match container["command"][container["command"].index("signal.sh") + 1 :]:
            case ["STOP", *_]:
                self.frozen.add(pod["metadata"]["name"])
                event = "frozen"
            case ["CONT", _]:
                self.frozen.discard(pod["metadata"]["name"])
                event = "thawed"
            case _:
                return
        message = json.dumps({"event": event, "at": to_micros(self.time)})
        ended = {"terminated": {"exitCode": 0, "message": message}}
        statuses = pod["status"].setdefault("ephemeralContainerStatuses", [])
        statuses.append({"name": container["name"], "state": ended})

    def read_test(self, name: str) -> Json | None:
        return self.get(KIND, name)

    def write_status(self, read: Json, status: Json) -> Json:
        self._call("update", KIND, read["metadata"]["name"])
        if self.before_write is not None:
            other, self.before_write = self.before_write, None
            other()
        with self.mutation():
            there = self.objects.get((KIND, read["metadata"]["name"]))
            if there is None:
                raise GoneError("test")
            if there["metadata"]["resourceVersion"] != read["metadata"]["resourceVersion"]:
                self.conflicts += 1
                raise ConflictError("resourceVersion")
            there["status"] = json.loads(json.dumps(status))
            there["metadata"]["resourceVersion"] = str(next(self.versions))
            return copy.deepcopy(there)

    def emit(self, event: Json) -> None:
        self._call("create", "Event", event["reason"])
        self.events.append(event)

    def mutation(self) -> Mutation:
        self.mutations += 1
        return Mutation(self, self.mutations)

    def put(self, obj: Json) -> Json:
        stored = copy.deepcopy(obj)
        key = (stored["kind"], stored["metadata"]["name"])
        there = self.objects.get(key)
        meta = stored["metadata"]
        meta["resourceVersion"] = str(next(self.versions))
        old = {} if there is None else there["metadata"]
        meta.setdefault("uid", old.get("uid") or f"uid-{next(self.serials)}")
        meta["creationTimestamp"] = old.get("creationTimestamp") or (
            self.time.strftime("%Y-%m-%dT%H:%M:%SZ")
        )
        if there is not None:
            stored = {**{k: v for k, v in there.items() if k in {"status", "born"}}, **stored}
        self.objects[key] = stored
        if stored["kind"] == "PersistentVolumeClaim" and there is None:
            stored |= {"status": {"phase": "Pending"}, "born": self.time}
        if stored["kind"] == "Pod" and there is None:
            stored["status"] = {"phase": "Pending"}
            stored["born"] = self.time
            stored["spec"]["nodeName"] = f"node-of-{key[1]}"
            self._schedule(stored)
        return copy.deepcopy(stored)

    # --- kubelets and controllers ---------------------------------------------------------------

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

    def tick(self, seconds: float) -> None:
        step = timedelta(seconds=seconds)
        if self.control() == "Produce" and self.up("producer"):
            self.written += 100 * seconds
        self.time += step
        for (kind, name), obj in list(self.objects.items()):
            if kind == "StatefulSet":
                self._keep_pod(name, obj)
            if kind == "Job":
                self._keep_driver(name, obj)
            if kind == "PersistentVolumeClaim":
                self._bind(obj)
        for (kind, name), pod in list(self.objects.items()):
            owners = pod["metadata"].get("ownerReferences", [])
            alive = {one["metadata"]["uid"] for one in self.objects.values()}
            if owners and not any(one["uid"] in alive for one in owners):
                del self.objects[kind, name]
            elif kind == "Pod":
                self._kubelet(name, pod)

    def control(self) -> str:
        found = self.objects.get(("ConfigMap", names.control(TEST)))
        return "Produce" if found is None else str(found["data"]["state"])

    def up(self, component: str) -> Sequence[Json]:
        return [
            one
            for one in self._select("Pod", {LABEL_COMPONENT: component})
            if one["status"]["phase"] == "Running"
        ]

    def over(self, pod: str) -> bool:
        """Whether the pod has ended, or is gone."""
        found = self.objects.get(("Pod", pod))
        return found is None or found["status"]["phase"] in {"Succeeded", "Failed"}

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
        pod["status"] = {
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
        if wanted and ("Pod", pod) not in self.objects:
            template = obj["spec"]["template"]
            owner = {"uid": obj["metadata"]["uid"], "kind": "StatefulSet"}
            meta = {"name": pod, "labels": template["metadata"]["labels"]}
            self.put(
                {
                    "kind": "Pod",
                    "metadata": {**meta, "ownerReferences": [owner]},
                    "spec": copy.deepcopy(template["spec"]),
                }
            )

    def _keep_driver(self, name: str, job: Json) -> None:
        if job.get("driver") or self.pods_refused:
            return
        job["driver"] = True
        template = job["spec"]["template"]
        owner = {"uid": job["metadata"]["uid"], "kind": "Job"}
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

    def _may_end(self, consumer: str) -> bool:
        transforms = any(
            one.get("output") and consumer.startswith(f"{TEST}-consumer-{one['name']}-")
            for one in self.test["spec"]["traffic"]["consumers"]
        )
        ends = {"DrainTransforms"} if transforms else {"Drain"}
        return self.control() in {*ends, "Abort"}

    def _kubelet(self, name: str, pod: Json) -> None:
        age, phase = self.time - pod["born"], pod["status"]["phase"]
        component = pod["metadata"]["labels"][LABEL_COMPONENT]
        if name in self.stuck or phase in {"Succeeded", "Failed"}:
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
            over = {
                "preflight": self.preflight,
                "producer": (0, "stopped") if self.control() != "Produce" else None,
                "consumer": (0, "drained") if self._may_end(name) else None,
                "recorder": (0, "stopped") if self.control() in {"Done", "Abort"} else None,
                "scoring": self.result if age >= SCORED else None,
                "tool": self.dumped,
            }.get(component)
            if over is not None:
                if component == "scoring" and self.publishes:
                    self.put(_scorecard(pod))
                self.end(name, *over)

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


def _scorecard(driver: Json) -> Json:
    """Return what a driver publishes before it ends."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{TEST}-scorecard",
            "namespace": NAMESPACE,
            "labels": dict(driver["metadata"]["labels"]),
        },
        "data": {"scorecard.json": "{}"},
    }


class Mutation:
    """One change of the API server, after which the controller may be killed."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.number = world, number

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.world.kill_at == self.number:
            self.world.kill_at = 0
            raise Killed
