"""Brokers, ZooKeeper and the controller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.spark.model.engine import MS, SECOND
from tests.spark.model.partition import FETCH, NO_LEADER, Partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.spark.model.engine import Engine
    from tests.spark.model.flaw import Flaw

SESSION = 4 * SECOND
"""zookeeper.session.timeout.ms."""


@dataclass(slots=True)
class Broker:
    """A broker's process and its session.

    Attributes:
        backlog: requests that wait in the sockets of a frozen process.
    """

    up: bool = True
    frozen: bool = False
    registered: bool = True
    lives: int = 0
    backlog: list[Callable[[], None]] = field(default_factory=list)


class Cluster:
    """A Kafka cluster with one topic.

    Args:
        engine: time and chance.
        flaw: where this Kafka goes wrong.
        tell: takes timeline events: (source, event, subject, detail).
        partitions: of the topic, each on every broker.
        min_insync, unclean: the topic's settings.
        slowness: how often a follower's fetch is late.
    """

    def __init__(  # noqa: PLR0913 - a cluster's settings
        self,
        engine: Engine,
        flaw: Flaw,
        tell: Callable[..., None],
        *,
        partitions: int,
        min_insync: int,
        unclean: bool,
        slowness: float,
    ) -> None:
        self.engine, self.flaw, self.tell = engine, flaw, tell
        self.min_insync, self.unclean, self.slowness = min_insync, unclean, slowness
        self.brokers = {number: Broker() for number in range(3)}
        self.zookeeper_up = True
        self.partitions = [
            Partition(self, number, [(number + step) % 3 for step in range(3)])
            for number in range(partitions)
        ]
        self.broken: list[Callable[[int], None]] = []
        for partition in self.partitions:
            self.tell_state(partition)
            partition.announce()
        engine.every(FETCH, self._fetch)

    def _fetch(self) -> bool:
        for partition in self.partitions:
            partition.fetch()
        return True

    def serves(self, broker: int) -> bool:
        """Whether a broker's process runs."""
        return (
            broker in self.brokers and self.brokers[broker].up and not self.brokers[broker].frozen
        )

    def registered(self, broker: int) -> bool:
        """Whether ZooKeeper holds a session of it."""
        return self.brokers[broker].registered

    @property
    def whole(self) -> bool:
        """Whether every partition has a leader and all of its replicas in the ISR."""
        return all(
            partition.leader != NO_LEADER and len(partition.isr) == len(partition.brokers)
            for partition in self.partitions
        )

    def tell_state(self, partition: Partition) -> None:
        """The recorder sees ZooKeeper's node of the partition change."""
        self.tell(
            "partition",
            "state",
            str(partition.number),
            leader=partition.leader,
            leader_epoch=partition.epoch,
            isr=partition.isr,
            controller_epoch=1,
            version=partition.version,
        )

    def deliver(self, broker: int, handle: Callable[[], None]) -> bool:
        """Bring a request to a broker; False where nobody listens."""
        state = self.brokers[broker]
        if not state.up:
            return False
        if state.frozen:
            state.backlog.append(handle)
        else:
            handle()
        return True

    # What befalls brokers.
    def crash(self, broker: int) -> None:
        """SIGKILL: the log stays, connections break, the session runs out later."""
        self._stop(broker)
        life = self.brokers[broker].lives
        self.engine.after(SESSION, lambda: self._expire(broker, life))

    def shut_down(self, broker: int) -> None:
        """Controlled shutdown: leaders move first, then the session is closed."""
        for partition in self.partitions:
            rest = [other for other in partition.isr if other != broker]
            if partition.leader == broker and rest:
                leader = self._first(partition, rest)
                if leader != NO_LEADER:
                    self._elect(partition, leader, partition.isr)

        def leave() -> None:
            self._stop(broker)
            self._expire(broker, self.brokers[broker].lives)

        self.engine.after(100 * MS, leave)

    def freeze(self, broker: int) -> None:
        """SIGSTOP."""
        state = self.brokers[broker]
        state.frozen = True
        life = state.lives
        self.engine.after(SESSION, lambda: self._expire(broker, life))

    def thaw(self, broker: int) -> None:
        """SIGCONT: what waited in the sockets is handled before ZooKeeper is heard."""
        state = self.brokers[broker]
        state.frozen = False
        state.lives += 1
        backlog, state.backlog = state.backlog, []
        for handle in backlog:
            handle()
        delay = self.engine.between(50 * MS, 400 * MS, "thaw", broker, self.engine.now)
        self.engine.after(delay, lambda: self._register(broker))

    def restart(self, broker: int) -> None:
        """Start the process again, once its old session has ended (till then its node is taken)."""
        state = self.brokers[broker]
        if state.registered:
            self.engine.after(300 * MS, lambda: self.restart(broker))
            return
        state.up = True
        state.lives += 1
        self._register(broker)

    def wipe(self, broker: int) -> None:
        """Take the volume of a broker that is down."""
        for partition in self.partitions:
            replica = partition.replicas[broker]
            replica.log.truncate(0)
            replica.high = 0

    def prefer(self) -> None:
        """Preferred leader election."""
        for partition in self.partitions:
            first = partition.brokers[0]
            if partition.leader != first and first in partition.isr and self.serves(first):
                self._elect(partition, first, partition.isr)

    # The controller.
    def _stop(self, broker: int) -> None:
        state = self.brokers[broker]
        state.up, state.frozen, state.backlog = False, False, []
        state.lives += 1
        for partition in self.partitions:
            replica = partition.replicas[broker]
            replica.leads, replica.knows = False, -1
            partition.waiting = [item for item in partition.waiting if item.broker != broker]
        for broken in self.broken:
            broken(broker)

    def _expire(self, broker: int, life: int) -> None:
        state = self.brokers[broker]
        if state.lives != life or not state.registered:
            return
        if not self.zookeeper_up:
            self.engine.after(500 * MS, lambda: self._expire(broker, life))
            return
        state.registered = False
        self.tell("broker", "unregistered", str(broker))
        delay = self.engine.between(20 * MS, 200 * MS, "failover", broker, self.engine.now)
        self.engine.after(delay, lambda: self._failed(broker))

    def _failed(self, broker: int) -> None:
        """The controller's answer to a broker that is gone."""
        if self.brokers[broker].registered:
            return
        for partition in self.partitions:
            rest = [other for other in partition.isr if other != broker] or partition.isr
            if partition.leader == broker:
                self._elect(partition, self._first(partition, rest), rest)
            elif broker in partition.isr and partition.leader != NO_LEADER:
                self._elect(partition, partition.leader, rest)

    def _register(self, broker: int) -> None:
        state = self.brokers[broker]
        if not state.up or state.frozen:
            return
        if not self.zookeeper_up:
            self.engine.after(300 * MS, lambda: self._register(broker))
            return
        if not state.registered:
            state.registered = True
            self.tell("broker", "registered", str(broker))
        for partition in self.partitions:
            if partition.leader == NO_LEADER:
                self._elect(partition, self._first(partition, partition.isr), partition.isr)
            partition.learn(broker)

    def _first(self, partition: Partition, isr: list[int]) -> int:
        """Whom the controller makes leader: of the ISR, else of the living where unclean."""
        living = [other for other in partition.brokers if self._eligible(other)]
        clean = [other for other in living if other in isr]
        if clean:
            return clean[0]
        strike = living and self.flaw.strikes("elect-outside-isr", partition=partition)
        return living[0] if living and (self.unclean or strike) else NO_LEADER

    def _eligible(self, broker: int) -> bool:
        return self.serves(broker) and self.registered(broker)

    def _elect(self, partition: Partition, leader: int, isr: list[int]) -> None:
        if leader == NO_LEADER and partition.leader == NO_LEADER:
            return
        members = isr if leader == NO_LEADER or leader in isr else [leader]
        old = partition.leader
        partition.write_state(leader, partition.epoch + 1, members)
        self.flaw.elected(partition, old)
        partition.announce()
