"""A cluster in miniature: pods, StatefulSets, Kafka's metadata and a clock, with real semantics.

It stands for the API server and Kafka as the ports describe them: uid preconditions, one ephemeral
container a name, StatefulSets that recreate their pod, sessions that end 6 s after a broker fell.
"""

from __future__ import annotations

import copy
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.unit.operator.faults.simulated_api import SimApi
from tests.unit.operator.faults.simulated_kafka import SimKafka
from tests.unit.operator.faults.simulated_nodes import SESSION, START

from krt_contract.entries import Topic
from krt_contract.members import Member, MemberKind, join_addresses, member_name
from krt_operator import names
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
from krt_operator.plan.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Killed(Exception):  # noqa: N818 - not an error: the controller's own death
    """The controller was killed here."""


class Sim(SimApi):
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
                member_name(kind, i),
                kind,
                i,
                zones[i % 3],
                names.member_pod("t", member_name(kind, i)),
                names.host("t", member_name(kind, i), "ns"),
            )
            for kind, count in (
                (MemberKind.KAFKA, self.spec.kafka.replicas),
                (MemberKind.ZOOKEEPER, self.spec.zookeeper.replicas),
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
        self.recovers = True

    def ports(self) -> Ports:
        settings = Settings(
            image_operator="image:1",
            image_traffic="image:1",
            image_scoring="image:1",
            image_kafka="image:1",
        )
        kafka = partial(SimKafka, self)
        return Ports(self, self, kafka, self.four_letter, settings)  # type: ignore[arg-type]

    def four_letter(self, host: str, word: str) -> str:
        assert word == "srvr"
        member = host.split(".", maxsplit=1)[0].removeprefix("t-")
        if not self._up(names.member_pod("t", member)):
            raise TransientError("refused")
        return f"Zookeeper version: 3.8\nMode: {'leader' if member == 'zk-2' else 'follower'}\n"

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
            tuple(Broker(one.ordinal, one.host) for one in live),
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
