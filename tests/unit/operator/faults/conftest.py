"""A cluster in miniature: pods, StatefulSets, Kafka's metadata and a clock, with real semantics.

It stands for the API server and Kafka as the ports describe them: uid preconditions, one ephemeral
container a name, StatefulSets that recreate their pod, sessions that end 6 s after a broker fell.
"""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

import pytest

from krt_operator import journal, names
from krt_operator.api.spec import Spec
from krt_operator.api.status import Phase, Status
from krt_operator.api.times import to_micros
from krt_operator.errors import GoneError, TransientError
from krt_operator.kafka.views import (
    NO_BROKER,
    Bounds,
    Broker,
    ClusterView,
    GroupMember,
    GroupView,
    Partition,
)
from krt_operator.plan import Member, Plan, PlannedTopic
from krt_operator.ports import (
    Deletion,
    Eviction,
    Json,
    Observed,
    Ports,
    Progress,
    Run,
    TopicPlan,
)
from krt_operator.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

START = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
SESSION = timedelta(seconds=6)
BACK = timedelta(seconds=8)
"""From a pod's creation until it is ready and its broker in every ISR."""


TOOL = timedelta(seconds=3)
"""From a Job's creation until its tool has ended."""
COPIED = timedelta(seconds=5)
"""From a reassignment until the new replicas are in sync and the old ones gone."""


class Killed(Exception):  # noqa: N818 - not an error: the controller's own death
    """The controller was killed here."""


class Sim:
    """The cluster under a run of one test resource."""

    def __init__(self, faults: list[dict[str, Any]], **spec: Any) -> None:
        body: dict[str, Any] = {
            "kafka": {"config": {"zookeeper.session.timeout.ms": "6000"}},
            "topics": [{"name": "foo", "partitions": 3, "replicationFactor": 3}],
            "traffic": {
                "producers": [{"name": "a", "topic": "foo"}],
                "consumers": [{"name": "c", "topics": ["foo"], "group": "g", "replicas": 2}],
            },
            "faults": faults,
        } | spec
        self.spec = Spec.model_validate(body).resolve()
        zones = ["zone-a", "zone-b", "zone-c"]
        members = [
            Member(
                names.member(kind, i),
                kind,
                i,
                zones[i % 3],
                names.member_pod("t", names.member(kind, i)),
                names.host("t", names.member(kind, i), "ns"),
            )
            for kind, count in (
                ("kafka", self.spec.kafka.replicas),
                ("zookeeper", self.spec.zookeeper.replicas),
            )
            for i in range(count)
        ]
        topic = PlannedTopic("foo", 3, 3, {}, {0: (0, 1, 2), 1: (1, 2, 0), 2: (2, 0, 1)})
        self.plan = Plan(
            "ns",
            "t",
            "uid-t",
            self.spec,
            tuple(members),
            dict(self.spec.kafka.config),
            {},
            (topic,),
            dict.fromkeys(("operator", "traffic", "scoring", "kafka"), "image:1"),
        )
        self.time = START
        self.status = journal.apply_all(Status(), (journal.enter(Phase.INJECTING, START),))
        self.version = 1
        self.serial = 0
        self.pods: dict[str, Json] = {}
        self.sets: dict[str, int] = {}
        self.claims: dict[str, Json] = {}
        self.jobs: dict[str, Json] = {}
        self.moves: dict[int, tuple[datetime, tuple[int, ...]]] = {}
        self.replicas = dict(topic.assignment)
        self.leaders: dict[int, int] = {}
        self.elections = 0
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
        self.controller = 0
        self.silent = False
        self.ephemeral_works = True
        self.recovers = True
        for one in members:
            self.sets[names.of_member("t", one.member)] = 1
            self._start(one.pod, one.kind, one.member, -BACK)
            self._make_claim(names.member_claim("t", one.member))
        for one_name, member in (("t-producer-a-0", "producer-a-0"),):
            self._start(one_name, "traffic", member, -BACK)
        self._start("t-recorder", "recorder", "recorder", -BACK)
        for i in range(2):
            self._start(f"t-consumer-c-{i}", "traffic", f"consumer-c-{i}", -BACK)

    # --- the ports -----------------------------------------------------------------------------

    def ports(self) -> Ports:
        settings = Settings("image:1", "image:1", "image:1", "image:1")
        return Ports(self, self, lambda _: SimKafka(self), self.four_letter, settings)  # type: ignore[arg-type]

    def now(self) -> datetime:
        return self.time

    def four_letter(self, host: str, word: str) -> str:
        assert word == "srvr"
        member = host.split(".", maxsplit=1)[0].removeprefix("t-")
        if not self._up(names.member_pod("t", member)):
            raise TransientError("refused")
        return f"Zookeeper version: 3.8\nMode: {'leader' if member == 'zk-2' else 'follower'}\n"

    def delete(self, deletion: Deletion) -> bool:
        if deletion.kind == "PersistentVolumeClaim":
            return self._delete_claim(deletion)
        pod = self.pods.get(deletion.name)
        if pod is None or deletion.uid not in (None, pod["metadata"]["uid"]):
            return False
        self.deleted.append(deletion.name)
        self._remove(deletion.name)
        return True

    def evict(self, deletion: Deletion) -> Eviction:
        """As the API server does: a budget of N-1 ready members of the pod's kind."""
        pod = self.pods.get(deletion.name)
        if pod is None or deletion.uid != pod["metadata"]["uid"]:
            return Eviction()
        kind = pod["spec"]["containers"][0]["name"]
        members = [one.pod for one in self.plan.members if one.kind == kind]
        healthy = sum(self._up(one) for one in members)
        if self._up(deletion.name) and healthy <= len(members) - 1:
            needs = f"needs {len(members) - 1} healthy pods and has {healthy} currently"
            return Eviction(refused=f"The disruption budget t-{kind} {needs}")
        self.evicted.append(deletion.name)
        self._remove(deletion.name)
        return Eviction(evicted=True)

    def apply(self, obj: Json) -> Json:
        name = obj["metadata"]["name"]
        if obj["kind"] == "StatefulSet":
            self.sets[name] = obj["spec"]["replicas"]
        elif obj["kind"] == "PersistentVolumeClaim":
            # A claim that is going stays the one that goes, whatever is applied to it.
            if name not in self.claims:
                self._make_claim(name)
        elif name not in self.pods:
            labels = obj["metadata"]["labels"]
            self._start(name, "traffic", labels[names.LABEL_MEMBER], timedelta())
        return obj

    def create(self, obj: Json) -> Json:
        """Only Jobs are created by faults; the tool of a Job says something after 3 s."""
        name = obj["metadata"]["name"]
        if name not in self.jobs:
            self.serial += 1
            meta = obj["metadata"] | {"uid": f"uid-{self.serial}"}
            self.jobs[name] = obj | {"metadata": meta, "born": self.time}
        return self.jobs[name]

    def _work(self) -> None:
        for name, job in self.jobs.items():
            if f"{name}-x" in self.pods or self.time < job["born"] + TOOL:
                continue
            at = self.time
            container = job["spec"]["template"]["spec"]["containers"][0]
            asked = json.loads(next(one["value"] for one in container["env"]))
            code, said = self.tool or (0, f'{{"krt":"tool","at":{to_micros(at)}}}')
            for one in asked["partitions"] if code == 0 else ():
                self.moves[one["partition"]] = (at + COPIED, tuple(one["replicas"]))
            self._start(f"{name}-x", "tool", "tool", timedelta())
            pod = self.pods[f"{name}-x"]
            pod["metadata"]["ownerReferences"] = [{"uid": job["metadata"]["uid"]}]
            ended = {"exitCode": code, "message": said}
            pod["status"] = {
                "phase": "Failed" if code else "Succeeded",
                "containerStatuses": [{"state": {"terminated": ended}}],
            }
        for number, (done, replicas) in list(self.moves.items()):
            if self.time >= done:
                self.replicas[number] = replicas
                del self.moves[number]

    def add_ephemeral_container(self, pod: str, uid: str, container: Json) -> Json:
        found = self.pods.get(pod)
        if found is None or found["metadata"]["uid"] != uid:
            raise GoneError(pod)
        present = found["spec"].setdefault("ephemeralContainers", [])
        if all(one["name"] != container["name"] for one in present):
            present.append(container)
            if self.ephemeral_works:
                self._signal(found, container)
        return found

    # --- the cluster ---------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let time pass; StatefulSets recreate pods, brokers come back."""
        self.time += timedelta(seconds=seconds)
        self._thaw_what_is_due()
        self._work()
        for one in self.plan.members:
            wanted = self.sets[names.of_member("t", one.member)]
            if wanted and one.pod not in self.pods:
                self._start(one.pod, one.kind, one.member, timedelta())
            elif not wanted and one.pod in self.pods:
                self._remove(one.pod)
        self._protect_claims()
        for pod in self.pods.values():
            ready = self._ready(pod)
            pod["status"]["conditions"] = [{"type": "Ready", "status": str(ready)}]
        for broker in self.plan.brokers:
            if self._up(broker.pod) and self.recovers:
                self.fell.pop(broker.ordinal, None)

    def _make_claim(self, name: str) -> None:
        self.serial += 1
        self.claims[name] = {"metadata": {"name": name, "uid": f"uid-{self.serial}"}}

    def _delete_claim(self, deletion: Deletion) -> bool:
        claim = self.claims.get(deletion.name)
        if claim is None or deletion.uid not in (None, claim["metadata"]["uid"]):
            return False
        claim["metadata"]["deletionTimestamp"] = "2026-11-21T04:00:00Z"
        return True

    def _protect_claims(self) -> None:
        """The finalizer kubernetes.io/pvc-protection: a claim goes when no pod uses it."""
        for one in self.plan.members:
            name = names.member_claim("t", one.member)
            going = "deletionTimestamp" in self.claims.get(name, {}).get("metadata", {})
            if going and one.pod not in self.pods:
                del self.claims[name]
                self.wiped.append(one.member)

    def _signal(self, pod: Json, container: Json) -> None:
        name, command = pod["metadata"]["name"], container["command"]
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

    def _thaw(self, pod: Json, container: str, at: datetime) -> None:
        self.frozen.pop(pod["metadata"]["name"], None)
        self._report(pod, container, "thawed", at)

    def _thaw_what_is_due(self) -> None:
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

    def dead(self) -> frozenset[int]:
        """Brokers whose session has ended and that have not come back."""
        silent = self.fell | {
            one.ordinal: self.frozen[one.pod] for one in self.plan.brokers if one.pod in self.frozen
        }
        return frozenset(i for i, at in silent.items() if self.time >= at + SESSION)

    def view(self) -> ClusterView:
        dead = self.dead()
        live = [one for one in self.plan.brokers if one.ordinal not in dead]
        partitions = []
        for number, settled in self.replicas.items():
            coming = self.moves[number][1] if number in self.moves else ()
            replicas = tuple(dict.fromkeys((*settled, *coming)))
            isr = tuple(one for one in settled if one not in dead)
            leader = isr[0] if isr else NO_BROKER
            leader = self.leaders[number] if self.leaders.get(number) in isr else leader
            partitions.append(Partition("foo", number, leader, replicas, isr))
        alive = [one.ordinal for one in live]
        controller = self.controller if self.controller in alive else min(alive, default=NO_BROKER)
        return ClusterView(
            tuple(Broker(one.ordinal, one.host, one.zone) for one in live),
            controller,
            tuple(partitions),
        )

    def _start(self, name: str, kind: str, member: str, ago: timedelta) -> None:
        self.serial += 1
        mounts = [] if kind == "traffic" else [{"name": "run", "mountPath": "/run/krt"}]
        self.pods[name] = {
            "metadata": {
                "name": name,
                "uid": f"uid-{self.serial}",
                "labels": {names.LABEL_MEMBER: member},
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

    def _remove(self, name: str) -> None:
        pod = self.pods.pop(name)
        self.frozen.pop(name, None)
        self._fall(pod)

    def _fall(self, pod: Json) -> None:
        member = pod["metadata"]["labels"][names.LABEL_MEMBER]
        if member.startswith("kafka-"):
            self.fell.setdefault(int(member.removeprefix("kafka-")), self.time)

    def _kill(self, pod: Json, container: Json) -> None:
        self.kills.append(pod["metadata"]["name"])
        at = self.time + timedelta(milliseconds=300)
        self._report(pod, container["name"], "killed", at)
        pod["metadata"]["created"] = self.time
        if pod["spec"]["containers"][0]["name"] == "traffic":
            pod["status"]["phase"] = "Failed"
            pod["status"]["containerStatuses"] = [{"state": {"terminated": {"exitCode": 137}}}]
        self._fall(pod)

    def _ready(self, pod: Json) -> bool:
        running: bool = pod["status"]["phase"] == "Running"
        return running and bool(self.time - pod["metadata"]["created"] >= BACK)

    def joined(self, name: str) -> bool:
        """Whether a consumer's pod is in its group: up, and not frozen beyond its session."""
        since = self.frozen.get(name)
        return self._up(name) and (since is None or self.time < since + SESSION)

    def _up(self, name: str) -> bool:
        return name in self.pods and self._ready(self.pods[name])

    # --- the engine, as ports.py describes it --------------------------------------------------

    def run(self) -> tuple[Run, Observed]:
        run = Run(
            "ns",
            "t",
            "uid-t",
            1,
            str(self.version),
            deleting=False,
            spec=self.spec,
            status=self.status,
            created=START,
            plan=self.plan,
        )
        sets = {name: {"spec": {"replicas": n}} for name, n in self.sets.items()}
        pods, claims = copy.deepcopy(self.pods), copy.deepcopy(self.claims)
        world = Observed(
            at=self.time,
            pods=pods,
            stateful_sets=sets,
            claims=claims,
            jobs=copy.deepcopy(self.jobs),
        )
        return run, world

    def carry_out(self, progress: Progress, kill_at: int = -1) -> None:
        """Do what a Progress says; raise Killed before its `kill_at`-th step."""
        steps = 0

        def step() -> None:
            nonlocal steps
            if steps == kill_at:
                raise Killed
            steps += 1

        step()
        self.write(progress.intents)
        for obj in progress.apply:
            step()
            self.apply(obj)
        for deletion in progress.delete:
            step()
            self.delete(deletion)
        changes = list(progress.changes)
        for act in progress.acts:
            step()
            changes += act.perform(self.ports())
        step()
        self.write(changes)
        step()
        if progress.next_phase is not None:
            self.write([journal.enter(progress.next_phase, self.time)])

    def write(self, changes: Sequence[Callable[[Status], Status]]) -> None:
        before = self.status
        self.status = journal.apply_all(self.status, tuple(changes))
        # What the API server stores is what the next pass reads.
        self.status = Status.model_validate(self.status.dump())
        self.version += self.status != before


class SimKafka:
    """The Kafka port on a Sim."""

    def __init__(self, sim: Sim) -> None:
        self.sim = sim

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        return

    def view(self) -> ClusterView:
        if self.sim.silent:
            self.sim.time += timedelta(seconds=5)
        if self.sim.silent or not self.sim.view().brokers:
            raise TransientError("no broker answers")
        return self.sim.view()

    def create_topics(self, topics: Sequence[TopicPlan]) -> None:
        raise NotImplementedError

    def bounds(self, topics: Sequence[str]) -> list[Bounds]:
        at = to_micros(self.sim.time)
        return [
            Bounds(p.topic, p.partition, at, 0, 1000, 1000, p.leader, 1, p.isr)
            for p in self.view().partitions
            if p.topic in topics
        ]

    def elect_preferred(self, partitions: Sequence[tuple[str, int]]) -> Mapping[str, str]:
        self.view()
        self.sim.elections += 1
        refused = {}
        for topic, number in partitions:
            if self.sim.replicas[number][0] in self.sim.dead():
                refused[f"{topic}-{number}"] = "the preferred leader is not available"
            else:
                self.sim.leaders.pop(number, None)
        return refused

    def group(self, group: str) -> GroupView:
        self.view()
        members = tuple(
            GroupMember(pod["metadata"]["uid"], name, pod["status"]["podIP"], ())
            for name, pod in self.sim.pods.items()
            if name.startswith("t-consumer-c-") and self.sim.joined(name)
        )
        committed = {("foo", number): 990 for number in range(3)}
        return GroupView(group, "STABLE", 1, members, committed)


@pytest.fixture
def simulate() -> type[Sim]:
    return Sim


@pytest.fixture
def killed() -> type[Killed]:
    return Killed
