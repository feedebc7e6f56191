"""A simulated cluster: pods, StatefulSets, Kafka's metadata and a clock, with real semantics.

It implements the API server and Kafka as the ports describe them: uid preconditions, one ephemeral
container per name, StatefulSets that recreate their pod, sessions that end 6 s after a broker fell.
"""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.unit.operator.faults.doubles.api import SimulatedApi
from tests.unit.operator.faults.doubles.kafka import SimulatedKafka
from tests.unit.operator.faults.doubles.nodes import SESSION, START

from krt_contract.entries import Topic
from krt_contract.members import Member, MemberKind, join_addresses, member_name
from krt_operator import names
from krt_operator.api.plan import Plan
from krt_operator.api.spec import Spec
from krt_operator.api.status import Phase, Status
from krt_operator.app.settings import Settings
from krt_operator.engine import journal
from krt_operator.engine.ports import Ports
from krt_operator.engine.progress import Observed, Progress, Run
from krt_operator.errors import TransientError
from krt_operator.kafka.views import (
    NO_BROKER,
    Broker,
    ClusterView,
    Partition,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from krt_contract.kafka_login import Login
    from krt_operator.engine.ports import BrokerPods


class ControllerKilled(Exception):  # noqa: N818 - not an error of the code under test
    """The controller was killed here."""


def no_controller(address: str, _login: Login) -> None:
    """This cluster is in ZooKeeper mode."""
    raise AssertionError(f"asked {address}")


def no_broker_pods(namespace: str, _labels: Mapping[str, str]) -> BrokerPods:
    """The test deploys this cluster."""
    raise AssertionError(f"asked for brokers in {namespace}")


def no_address(host: str) -> frozenset[str]:
    """The test deploys this cluster."""
    raise AssertionError(f"asked for {host}")


class SimulatedCluster(SimulatedApi):
    """The cluster of one test resource.

    Args:
        faults: `spec.faults` of the resource.
        spec: other fields of its spec.
    """

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
                member_name(kind, i),
                kind,
                i,
                zones[i % 3],
                names.member_pod("t", member_name(kind, i)),
                names.host("t", member_name(kind, i), "ns"),
            )
            for kind, count in (
                (MemberKind.KAFKA, self.spec.kafka.replicas),
                (MemberKind.ZOOKEEPER, self.spec.ensemble.replicas),
            )
            for i in range(count)
        ]
        topic = Topic("foo", 3, 3, {}, {0: (0, 1, 2), 1: (1, 2, 0), 2: (2, 0, 1)})
        plan = Plan(
            namespace="ns",
            name="t",
            uid="uid-t",
            seed=self.spec.seed,
            resolved_spec=self.spec.dump(),
            topics=(topic,),
            bootstrap=join_addresses(members[: self.spec.kafka.replicas]),
            zookeeper=join_addresses(members[self.spec.kafka.replicas :]),
            members=tuple(members),
            broker_config=dict(self.spec.kafka.config),
            images=dict.fromkeys(("operator", "traffic", "scoring", "kafka"), "image:1"),
        )
        super().__init__(plan)
        self.status = journal.apply_all(Status(), (journal.enter(Phase.INJECTING, START),))
        self.version = 1
        self.leaders: dict[int, int] = {}
        self.elections = 0
        self.controller = 0
        self.silent = False
        self.answers_after = 0.0
        """Seconds that Kafka takes for an answer."""
        self.recovers = True

    def ports(self) -> Ports:
        settings = Settings(
            image_operator="image:1",
            image_traffic="image:1",
            image_scoring="image:1",
            image_kafka="image:1",
        )

        def kafka(bootstrap: str, _login: Login) -> SimulatedKafka:
            return SimulatedKafka(self, bootstrap)

        return Ports(
            self,
            self,
            kafka,
            self.four_letter,
            no_controller,
            settings,
            bytes,
            broker_pods=no_broker_pods,
            addresses=no_address,
        )

    def four_letter(self, host: str, word: str, _login: Login) -> str:
        assert word == "srvr"
        member = host.split(".", maxsplit=1)[0].removeprefix("t-")
        if not self.is_up(names.member_pod("t", member)):
            raise TransientError("refused")
        return f"Zookeeper version: 3.8\nMode: {'leader' if member == 'zk-2' else 'follower'}\n"

    def advance(self, seconds: float) -> None:
        """Let time pass; StatefulSets recreate pods, brokers come back."""
        self.time += timedelta(seconds=seconds)
        self._thaw_due()
        self.run_jobs()
        for member in self.plan.members:
            replicas = self.sets[names.of_member("t", member.member)]
            if replicas and member.pod not in self.pods:
                self.start_pod(member.pod, member.kind, member.member, timedelta())
            elif not replicas and member.pod in self.pods:
                self._remove(member.pod)
        self.release_claims()
        for pod in self.pods.values():
            ready = self._ready(pod)
            pod["status"]["conditions"] = [{"type": "Ready", "status": str(ready)}]
        for broker in self.plan.brokers:
            if self.is_up(broker.pod) and self.recovers:
                self.fell.pop(broker.ordinal, None)

    def dead(self) -> frozenset[int]:
        """Brokers whose session has ended and that have not come back."""
        silent = self.fell | {
            broker.ordinal: self.frozen[broker.pod]
            for broker in self.plan.brokers
            if broker.pod in self.frozen
        }
        return frozenset(i for i, at in silent.items() if self.time >= at + SESSION)

    def view(self) -> ClusterView:
        dead = self.dead()
        live = [broker for broker in self.plan.brokers if broker.ordinal not in dead]
        partitions = []
        for number, settled in self.replicas.items():
            coming = self.moves[number][1] if number in self.moves else ()
            replicas = tuple(dict.fromkeys((*settled, *coming)))
            isr = tuple(broker for broker in settled if broker not in dead)
            leader = isr[0] if isr else NO_BROKER
            leader = self.leaders[number] if self.leaders.get(number) in isr else leader
            partitions.append(Partition("foo", number, leader, replicas, isr))
        alive = [broker.ordinal for broker in live]
        controller = self.controller if self.controller in alive else min(alive, default=NO_BROKER)
        return ClusterView(
            tuple(Broker(broker.ordinal, broker.host) for broker in live),
            controller,
            tuple(partitions),
        )

    def run(self) -> tuple[Run, Observed]:
        run = Run(
            "ns",
            "t",
            "uid-t",
            spec=self.spec,
            status=self.status,
            created=START,
            plan=self.plan,
        )
        sets = {
            name: {"metadata": {"uid": f"uid-{name}"}, "spec": {"replicas": n}}
            for name, n in self.sets.items()
        }
        pods, claims = copy.deepcopy(self.pods), copy.deepcopy(self.claims)
        observed = Observed(
            at=self.time,
            pods=pods,
            stateful_sets=sets,
            claims=claims,
            jobs=copy.deepcopy(self.jobs),
        )
        return run, observed

    def carry_out(self, progress: Progress, kill_at: int = -1) -> None:
        """Carry out a Progress; raise ControllerKilled before its `kill_at`-th step."""
        steps = 0

        def step() -> None:
            nonlocal steps
            if steps == kill_at:
                raise ControllerKilled
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
        for act in progress.side_effects:
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
