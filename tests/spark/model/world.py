"""One history: a scenario played to its end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.spark.model import faults
from tests.spark.model.cluster import Cluster
from tests.spark.model.consumer import Consumer
from tests.spark.model.engine import MS, SECOND, Engine
from tests.spark.model.flaw import Flaw
from tests.spark.model.group import Group
from tests.spark.model.producer import Producer
from tests.spark.model.scenario import DRAIN, TRAFFIC_END, Scenario
from tests.spark.model.transactions import Coordinator, TransactionalProducer

if TYPE_CHECKING:
    from tests.spark.model.log import Log, Record
    from tests.spark.model.sends import Send

READY = 2 * SECOND
"""When producers begin: the groups have their first members by then."""


class World:
    """A cluster, its clients and what befalls them.

    Args:
        scenario: what to play.
        flaw: where it goes wrong.

    Attributes:
        told: timeline events: (at, source, event, subject, detail).
        producers, consumers: every incarnation there was.
        by_record: every send there was.
    """

    def __init__(self, scenario: Scenario, flaw: Flaw | None = None) -> None:
        self.scenario = scenario
        self.engine = Engine(scenario.seed)
        self.flaw = flaw or Flaw()
        self.told: list[tuple[int, str, str, str, dict[str, Any]]] = []
        self.cluster = Cluster(
            self.engine,
            self.flaw,
            self.tell,
            partitions=scenario.partitions,
            min_insync=scenario.min_insync,
            unclean=scenario.unclean,
            slowness=scenario.slowness,
        )
        self.coordinator = Coordinator(self)
        self.by_record: dict[Record, Send] = {}
        self.groups = [Group(self, plan) for plan in scenario.groups]
        self.consumers: list[Consumer] = []
        self.producers: list[Producer] = []
        self.down: set[int] = set()

    def tell(self, source: str, event: str, subject: str, **detail: object) -> None:
        """Write an event on the timeline."""
        self.told.append((self.engine.now, source, event, subject, detail))

    def play(self) -> World:
        """Play the scenario and return the world at its end."""
        for group in self.groups:
            for number in range(group.plan.members):
                self.consume(group, f"{group.plan.name}-{number}", 0)
        for number in range(len(self.scenario.producers)):
            self.engine.after(READY, partial(self.produce, number, 0))
        for number, fault in enumerate(self.scenario.faults):
            self.engine.after(fault.at, partial(faults.hit, self, f"f{number}", fault))
        for at, producer, broker in self.scenario.cuts:
            self.engine.after(at, partial(self.cut, producer, broker))
        self.engine.after(TRAFFIC_END, self._stop)
        self.engine.every(500 * MS, self._drain)
        self.engine.run(DRAIN)
        return self

    # Clients.
    def produce(self, number: int, life: int) -> None:
        """Start an incarnation of a producer."""
        plan = self.scenario.producers[number]
        producer = (TransactionalProducer if plan.transactional else Producer)(self, plan, life)
        self.producers.append(producer)
        self.tell(
            "pod", "added", producer.incarnation, uid=producer.incarnation, component="producer"
        )
        producer.start()

    def consume(self, group: Group, name: str, life: int) -> None:
        """Start an incarnation of a consumer."""
        consumer = Consumer(self, group, name, life)
        self.consumers.append(consumer)
        self.tell(
            "pod", "added", consumer.incarnation, uid=consumer.incarnation, component="consumer"
        )

    def cut(self, number: int, broker: int) -> None:
        """Break a producer's connection to a broker."""
        plan = self.scenario.producers[number]
        for producer in self.producers:
            if producer.plan is plan and producer.alive:
                producer.disconnect(broker)

    def gone(self, client: Producer | Consumer, component: str, code: int) -> None:
        """A client's pod has ended."""
        if code:
            self.tell("member", "killed", client.incarnation, uid=client.incarnation)
        self.tell(
            "pod",
            "exited",
            client.incarnation,
            uid=client.incarnation,
            component=component,
            exitCode=code,
        )

    # The end.
    def _stop(self) -> None:
        for producer in self.producers:
            producer.stopped = True

    @property
    def settled(self) -> bool:
        """Whether every log is whole, replicated and without open transactions."""
        for partition in self.cluster.partitions:
            replica = partition.replicas.get(partition.leader)
            if replica is None or not replica.leads:
                return False
            log = replica.log
            whole = len(partition.isr) == len(partition.brokers)
            if not (whole and replica.high == log.end == log.stable(log.end)):
                return False
        return True

    @property
    def ended(self) -> bool:
        """Whether the logs settled and every client left in order."""
        return self.settled and not any(consumer.alive for consumer in self.consumers)

    def log(self, number: int) -> Log:
        """Return the settled log of a partition."""
        partition = self.cluster.partitions[number]
        return partition.replicas[partition.leader].log

    def _drain(self) -> bool:
        if self.engine.now < TRAFFIC_END + SECOND or self.down:
            return True
        for producer in self.producers:
            ended = producer.idle or self.engine.now > TRAFFIC_END + 12 * SECOND
            if producer.alive and ended and not getattr(producer, "_ending", False):
                producer.close()
                self.gone(producer, "producer", 0)
        if any(producer.alive for producer in self.producers) or not self.settled:
            return True
        ends = {number: self.log(number).end for number in range(self.scenario.partitions)}
        if not all(self._read(group, ends) for group in self.groups):
            return True
        for group in self.groups:
            group.closing = True
        living = [item for item in self.consumers if item.alive]
        for consumer in living:
            consumer.drain(ends)
        for consumer in living:
            consumer.close()
            self.gone(consumer, "consumer", 0)
        return False

    def _read(self, group: Group, ends: dict[int, int]) -> bool:
        """Whether a group has handed out every record there is for it."""
        owned: dict[int, int] = {}
        for consumer in self.consumers:
            if consumer.alive and consumer.group is group:
                if consumer.frozen:
                    return False
                owned |= consumer.positions
        return all(self._rest(group, number, owned.get(number, -1)) for number in ends)

    def _rest(self, group: Group, number: int, position: int) -> bool:
        log = self.log(number)
        rest = [entry for entry in log.entries[max(position, 0) :] if entry.record]
        if group.plan.committed:
            rest = [entry for entry in rest if log.state(entry) != "aborted"]
        return position >= 0 and not rest
