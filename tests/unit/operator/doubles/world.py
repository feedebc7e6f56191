"""A double of the API server, the kubelets and the Kafka under test.

It has resource versions and conflicts, uid preconditions, names that are taken, owners and garbage
collection; `kubelets.py` has what happens by itself. The controller reaches it with its own client,
over the paths of the real API server (`api_server.py`).
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.unit.operator.doubles.api_server import ApiServer
from tests.unit.operator.doubles.kafka import FakeKafka
from tests.unit.operator.doubles.kubelets import NAMESPACE, TEST, UID, Kubelets
from tests.unit.operator.doubles.objects import copied, read, spec
from tests.unit.operator.doubles.owner import Owner
from tests.unit.operator.doubles.reference_kafka import ReferenceKafka

from krt_contract.labels import API_VERSION, KIND, LABEL_COMPONENT, LABEL_MEMBER
from krt_contract.members import CONTROLLER_ID_BASE, CONTROLLER_PORT
from krt_operator.app.metrics import Metrics
from krt_operator.app.settings import NetworkPolicies, Settings
from krt_operator.engine.ports import Ports
from krt_operator.engine.reconcile import Reconciler
from krt_operator.errors import ConflictError, RefusedError, TransientError, UserError
from krt_operator.kafka.views import NO_BROKER, Quorum
from krt_operator.kubernetes.broker_pods import ApiBrokerPods
from krt_operator.kubernetes.client import ApiCluster
from krt_operator.kubernetes.rest import NotFoundError, TooManyRequestsError
from krt_operator.phases.failure import on_failure
from krt_operator.phases.steps import step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from krt_contract.kafka_login import Login
    from krt_contract.kafka_refusal import Refusal
    from krt_operator.engine.progress import Deletion
    from krt_operator.engine.views import Json

SETTINGS = Settings(
    image_operator="op:1",
    image_traffic="traffic:1",
    image_scoring="scoring:1",
    image_kafka="kafka:1",
    image_kafka_kraft="kafka:4",
    max_concurrent_tests=2,
)
CONTROLLER_LABELS = {
    "app.kubernetes.io/instance": "krt",
    "app.kubernetes.io/component": "operator",
}
WITH_POLICIES = SETTINGS.model_copy(
    update={
        "namespace": "krt-system",
        "test_network_policies": NetworkPolicies(controller=CONTROLLER_LABELS),
    }
)
"""The same where tests get NetworkPolicies."""


class World(Kubelets):
    """The cluster under one test resource (and whatever a test adds)."""

    def __init__(self, **changes: Any) -> None:
        super().__init__()
        self.name = TEST
        self.events: list[Json] = []
        self.metrics = Metrics()
        self.api = ApiServer(self)
        self.before_write: Callable[[], object] | None = None
        self.answers: Callable[[str, str, str], Exception | None] = lambda *_: None
        """What a call with this verb, kind and name fails with; None where it succeeds."""
        self.errors: list[Exception] = []
        self.conflicts = 0
        self.earlier: dict[str, tuple[str, Json | None]] = {}
        """Kind to the name of its object that was written last, and what that was before."""
        self.acting = UID
        """Uid of the test that the controller works on."""
        self.trespasses: list[str] = []
        """What it changed or deleted although it does not belong to that test."""
        self.silent_kafka = False
        self.missing_rights: list[str] = []
        """ACLs that the user of the Kafka under test lacks."""
        self.unheard: set[tuple[int, str, int]] = set()
        """Broker, topic and number of a partition that the broker has not heard of yet."""
        self.undeletable: UserError | None = None
        """Why the topics under test are not deleted, where they are not."""
        self.logins: list[Login] = []
        """What the controller's clients logged in with."""
        self.kafka_refusal: Refusal | None = None
        """Why the Kafka under test lets nobody in, where it does not."""
        self.reference: dict[int, str] = {}
        """Broker id to rack of a cluster that somebody else runs, where there is one."""
        self.owner = Owner(self)
        """The namespace of whoever runs that cluster."""
        self.reference_settings: dict[str, str] = {}
        self.reference_down: frozenset[int] = frozenset()
        """Its brokers that are not there now."""
        self.kafka_calls: list[tuple[str, tuple[str, ...]]] = []
        """What was changed on the Kafka under test: the call, and the names it was for."""
        self.old_records: dict[str, int] = {}
        """Topic to the records that each of its partitions had before the test."""
        self.groups: set[str] = set()
        """Groups that are there although no consumer of the test has run."""
        self.quorum_leader = (NO_BROKER, 0)
        """Node id of the KRaft controller that led last, and its epoch."""
        self.write_takes = 0.01
        self.bounds_take = 0.0
        self.restless_log = False
        self.classes = {"krt-evidence"}
        self.add_test(TEST, UID, **changes)

    def add_test(self, name: str, uid: str, **changes: Any) -> None:
        """Create a test with the smallest spec, changed."""
        meta = {"name": name, "namespace": NAMESPACE, "uid": uid, "generation": 1}
        self.put(
            {"apiVersion": API_VERSION, "kind": KIND, "metadata": meta, "spec": spec(**changes)}
        )

    # --- the controller -------------------------------------------------------------------------

    def controller(self, settings: Settings = SETTINGS) -> Reconciler:
        cluster = ApiCluster(self.api, NAMESPACE)
        return Reconciler(cluster, self.ports(settings), self.metrics, step, on_failure)

    def ports(self, settings: Settings = SETTINGS) -> Ports:
        """Everything that phases may reach."""
        return Ports(
            cluster=ApiCluster(self.api, NAMESPACE),
            clock=self,
            kafka=self.kafka,
            four_letter=self.four_letter,
            describe_quorum=self.describe_quorum,
            settings=settings,
            installation_key=lambda: bytes(32),
            broker_pods=lambda namespace, labels: ApiBrokerPods(self.owner, namespace, labels),
            addresses=self.resolve,
        )

    def resolve(self, host: str) -> frozenset[str]:
        """The addresses of a host that a broker of somebody else advertises."""
        found = self.owner.addresses.get(host)
        if found is None:
            raise TransientError(f"host {host} cannot be resolved")
        return found

    def kafka(self, _bootstrap: str, login: Login) -> FakeKafka:
        """The Kafka under test, to a client that logs in like this."""
        self.logins.append(login)
        return ReferenceKafka(self) if self.reference else FakeKafka(self)

    def four_letter(self, host: str, _word: str, login: Login) -> str:
        """The first server that runs leads."""
        self.logins.append(login)
        pods = sorted(pod["metadata"]["name"] for pod in self.serving("zookeeper"))
        pod = f"{host.split('.', maxsplit=1)[0]}-0"
        if pod not in pods:
            raise TransientError("refused")
        return f"Mode: {'leader' if pod == pods[0] else 'follower'}"

    def describe_quorum(self, address: str, login: Login) -> Quorum | None:
        """The first controller leads until it stops; then the next one, while most of them run."""
        self.logins.append(login)
        host, _, port = address.partition(":")
        assert port == str(CONTROLLER_PORT)
        running = {
            pod["metadata"]["labels"][LABEL_MEMBER]: CONTROLLER_ID_BASE
            + int(pod["metadata"]["labels"][LABEL_MEMBER].removeprefix("controller-"))
            for pod in self.serving("controller")
        }
        voters = {name for name in self.names_of("StatefulSet") if "-controller-" in name}
        asked = running.get(host.split(".", maxsplit=1)[0].removeprefix(f"{self.name}-"))
        if asked is None:
            raise TransientError("refused")
        if len(running) <= len(voters) // 2:
            return None
        leader, epoch = self.quorum_leader
        if leader not in running.values():
            self.quorum_leader = leader, epoch = min(running.values()), epoch + 1
        return Quorum(leader, epoch, frozenset(running.values())) if asked == leader else None

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

    def run_and_write(self) -> list[str]:
        """Run to the end; returns each state of each object but Secrets, as JSON."""
        written: list[str] = []
        while self.status.get("phase") not in {"Completed", "Error"}:
            self.tick(self.controller().run_once(TEST) or 0.01)
            written += [
                json.dumps(obj, default=str)
                for (kind, _), obj in self.objects.items()
                if kind != "Secret"
            ]
        return written

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

    def fail_preflight(self, controller: Reconciler, exit_code: int, message: str) -> None:
        """Make the check of the clients' settings fail, in the pod that reads the evidence."""
        name = "t-preflight-read"
        while ("Pod", name) not in self.objects:
            self.tick(controller.run_once(TEST) or 0.01)
        self.stuck = {name}
        ended = {"exitCode": exit_code, "message": message}
        self.objects["Pod", name]["status"] = {
            "phase": "Failed",
            "initContainerStatuses": [{"name": "clients", "state": {"terminated": ended}}],
        }

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

    # --- the API server's storage ---------------------------------------------------------------

    def now(self) -> datetime:
        return self.time

    def get(self, kind: str, name: str) -> Json | None:
        self._call("get", kind, name)
        if kind == "StorageClass":
            found = {"metadata": {"name": name}, "volumeBindingMode": self.binding_mode}
            return found if name in self.classes else None
        there = self.objects.get((kind, name))
        return None if there is None else read(there)

    def list(self, kind: str, labels: Mapping[str, str] | None = None) -> Sequence[Json]:
        self._call("list", kind)
        return self.select(kind, labels)

    def apply(self, obj: Json) -> Json:
        kind, meta = obj["kind"], obj["metadata"]
        self._call("apply", kind, meta["name"])
        there = self.objects.get((kind, meta["name"]))
        for precondition in ("resourceVersion", "uid"):
            wanted = meta.get(precondition)
            if wanted and (there is None or there["metadata"][precondition] != wanted):
                self.conflicts += 1
                raise ConflictError(precondition)
        if there is not None and kind == "Pod":
            if there["metadata"].get("annotations") != meta.get("annotations"):
                raise RefusedError(f"HTTP 422: pod {meta['name']} cannot be changed")
            return copied(there)
        self._remember(kind, meta["name"])
        return self.put(obj)

    def create(self, obj: Json) -> Json:
        kind, name = obj["kind"], obj["metadata"]["name"]
        self._call("create", kind, name)
        if (kind, name) in self.objects:
            raise ConflictError(f"HTTP 409: {kind} {name} already exists")
        self._remember(kind, name)
        return self.put(obj)

    def check_create(self, obj: Json) -> None:
        self._call("check", obj["kind"], obj["metadata"]["name"])
        assert obj["spec"]["containers"]
        if self.pods_refused:
            raise RefusedError(self.pods_refused)

    def delete(self, deletion: Deletion) -> None:
        kind, name = deletion.kind, deletion.name
        self._call("delete", kind, name)
        self._precondition(kind, name, deletion.uid)
        self._remember(kind, name)
        if kind == "Pod":
            begun = self.terminate(name, at_once=deletion.grace_seconds == 0)
        elif kind == "PersistentVolumeClaim" and self.claim_in_use(name):
            meta = self.objects[kind, name]["metadata"]
            begun = "deletionTimestamp" not in meta
            meta["deletionTimestamp"] = self.time.strftime("%Y-%m-%dT%H:%M:%SZ")
        else:
            self.remove(kind, name)
            begun = True
        if begun:
            self._deleted("delete", kind, name)

    def evict(self, deletion: Deletion) -> None:
        self._call("evict", "Pod", deletion.name)
        self._precondition("Pod", deletion.name, deletion.uid)
        labels = self.objects["Pod", deletion.name]["metadata"]["labels"].items()
        for budget in self.select("PodDisruptionBudget"):
            chosen = budget["spec"]["selector"]["matchLabels"].items()
            healthy = [
                pod
                for pod in self.serving(dict(labels)[LABEL_COMPONENT])
                if chosen <= pod["metadata"]["labels"].items()
            ]
            wanted = budget["spec"]["minAvailable"]
            if chosen <= labels and len(healthy) <= wanted:
                name = budget["metadata"]["name"]
                has = f"needs {wanted} healthy pods and has {len(healthy)} currently"
                cause = f"The disruption budget {name} {has}"
                raise TooManyRequestsError("HTTP 429", {"DisruptionBudget": cause})
        self._remember("Pod", deletion.name)
        if self.terminate(deletion.name):
            self._deleted("evict", "Pod", deletion.name)

    def annotate_pod(self, pod: str, uid: str, annotations: Mapping[str, str]) -> Json:
        self._call("annotate", "Pod", pod)
        self._precondition("Pod", pod, uid)
        self._remember("Pod", pod)
        there = self.objects["Pod", pod]
        there["metadata"]["resourceVersion"] = str(next(self.versions))
        there["metadata"].setdefault("annotations", {}).update(annotations)
        there["changed"] = self.time
        return read(there)

    def add_ephemeral_container(self, pod: str, uid: str, container: Json) -> Json:
        self._call("signal", "Pod", pod)
        self._precondition("Pod", pod, uid)
        self._remember("Pod", pod)
        there = self.objects["Pod", pod]
        there["metadata"]["resourceVersion"] = str(next(self.versions))
        present = there["spec"].setdefault("ephemeralContainers", [])
        if all(one["name"] != container["name"] for one in present):
            present.append(copied(container))
            self.signalled(there, container)
        return copied(there)

    def write_status(self, resource: Json) -> Json:
        name = resource["metadata"]["name"]
        self._call("update", KIND, name)
        if self.before_write is not None:
            other, self.before_write = self.before_write, None
            other()
        there = self.objects.get((KIND, name))
        if there is None:
            raise NotFoundError(f"HTTP 404: {name}")
        if there["metadata"]["resourceVersion"] != resource["metadata"]["resourceVersion"]:
            self.conflicts += 1
            raise ConflictError("resourceVersion")
        self._remember(KIND, name)
        there["status"] = json.loads(json.dumps(resource["status"]))
        there["metadata"]["resourceVersion"] = str(next(self.versions))
        return read(there)

    def emit(self, event: Json) -> None:
        self._call("create", "Event", event["reason"])
        if any(each["metadata"] == event["metadata"] for each in self.events):
            raise ConflictError("HTTP 409: AlreadyExists")
        self.events.append(event)

    def _precondition(self, kind: str, name: str, uid: str | None) -> None:
        there = self.objects.get((kind, name))
        if there is None:
            raise NotFoundError(f"HTTP 404: {kind} {name}")
        if uid not in {None, there["metadata"]["uid"]}:
            raise ConflictError(f"HTTP 409: Precondition failed: UID of {kind} {name}")

    def _remember(self, kind: str, name: str) -> None:
        there = self.objects.get((kind, name))
        self.earlier[kind] = name, copied(there)
        if there is not None and self.roots[there["metadata"]["uid"]] != self.acting:
            self.trespasses.append(f"{kind} {name}")

    def _deleted(self, verb: str, kind: str, name: str) -> None:
        phase = self.objects.get((KIND, TEST), {}).get("status", {}).get("phase")
        if phase == "Injecting":
            self.injected.append((verb, f"{kind}/{name}"))
