"""One partition: replicas that fetch from a leader, an ISR, a high watermark, leader epochs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from tests.spark.model.engine import MS, SECOND
from tests.spark.model.log import Entry, Log, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.spark.model.cluster import Cluster

NO_LEADER = -1
FETCH = 40 * MS
LAG_MAX = 3 * SECOND
"""replica.lag.time.max.ms, shorter than Kafka's default so that short histories show it."""

Reply = "Callable[[str, int | None], None]"


@dataclass(slots=True)
class Request:
    """A send on its way to a leader; ``reply(answer, offset)`` may never be called."""

    record: Record
    acks: str
    reply: Callable[[str, int | None], None]
    pid: str = ""
    pepoch: int = 0
    number: int = 0


@dataclass(slots=True)
class Waiting:
    """An acks=all request that waits for the high watermark."""

    broker: int
    offset: int
    request: Request


@dataclass(slots=True)
class Replica:
    """What one broker has of the partition, and what it believes.

    Attributes:
        knows: the leader epoch it was last told of.
        leads: whether it takes itself for the leader.
        caught_up: when the leader last saw it at its end.
    """

    log: Log = field(default_factory=Log)
    high: int = 0
    knows: int = -1
    leads: bool = False
    caught_up: int = 0


class Partition:
    """The state of a partition in ZooKeeper, and its replicas.

    Args:
        cluster: its brokers.
        number: within the topic.
        brokers: replicas, the preferred leader first.
    """

    def __init__(self, cluster: Cluster, number: int, brokers: list[int]) -> None:
        self.cluster, self.number, self.brokers = cluster, number, brokers
        self.replicas = {broker: Replica() for broker in brokers}
        self.leader, self.epoch, self.version = brokers[0], 0, 0
        self.isr = sorted(brokers)
        self.waiting: list[Waiting] = []

    # ZooKeeper's side.
    def write_state(self, leader: int, epoch: int, isr: list[int]) -> None:
        """Store a state, and let the brokers that live hear of it."""
        self.leader, self.epoch, self.isr = leader, epoch, sorted(isr)
        self.version += 1
        self.cluster.tell_state(self)

    def announce(self) -> None:
        """LeaderAndIsr to every replica, each in its own time."""
        for broker in self.brokers:
            delay = self.cluster.engine.between(
                5 * MS, 60 * MS, "announce", self.number, self.epoch, broker
            )
            self.cluster.engine.after(delay, partial(self.learn, broker))

    def learn(self, broker: int) -> None:
        """Take the newest state over: lead, or follow and cut what the leader does not have."""
        replica = self.replicas[broker]
        if not self.cluster.serves(broker) or replica.knows >= self.epoch:
            return
        replica.knows = self.epoch
        replica.leads = broker == self.leader
        if replica.leads:
            for other in self.replicas.values():
                other.caught_up = self.cluster.engine.now
            return
        for item in [item for item in self.waiting if item.broker == broker]:
            self.waiting.remove(item)
            item.request.reply("not-leader", None)

    # The leader's side.
    def produce(self, broker: int, request: Request) -> None:
        """Handle a produce request that reached a broker."""
        replica = self.replicas.get(broker)
        if replica is None or not replica.leads:
            request.reply("not-leader", None)
            return
        below = len(self.isr) < self.cluster.min_insync
        if request.acks == "all" and below:
            strike = self.cluster.flaw.strikes(
                "accept-below-min-isr", partition=self, request=request
            )
            if not strike:
                request.reply("not-enough-replicas", None)
                return
            entry = self.append(broker, request)
            request.reply("ok", entry.offset)
            return
        answer, offset = self._check(replica.log, request)
        if answer == "duplicate" and self.cluster.flaw.strikes(
            "append-retry-again", partition=self, request=request
        ):
            answer = "ok"
        if answer not in ("ok", "duplicate"):
            request.reply(answer, None)
            return
        if answer == "ok":
            offset = self.append(broker, request).offset
        if request.acks == "all":
            assert offset is not None
            if self.cluster.flaw.strikes("ack-before-replicas", partition=self, request=request):
                request.reply("ok", offset)
                return
            self.waiting.append(Waiting(broker, offset, request))
            self.settle(broker)
        else:
            request.reply("ok", offset)

    def append(self, broker: int, request: Request) -> Entry:
        """Append to the leader's log."""
        replica = self.replicas[broker]
        entry = Entry(
            replica.log.end,
            replica.knows,
            self.cluster.engine.now,
            request.record,
            request.pid,
            request.pepoch,
            request.number,
        )
        replica.log.entries.append(entry)
        self.cluster.flaw.appended(replica.log, entry)
        return entry

    def mark(self, pid: str, pepoch: int, count: int, marker: str) -> bool:
        """Append a transaction marker, once; True when every replica in sync has it.

        Args:
            pid, pepoch: whose transaction ends.
            count: which one.
            marker: committed or aborted.
        """
        replica = self.replicas.get(self.leader)
        if replica is None or not replica.leads or not self.cluster.serves(self.leader):
            return False
        log = replica.log
        for entry in reversed(log.entries):
            if entry.marker and (entry.pid, entry.number) == (pid, count):
                return entry.offset < replica.high
        now = self.cluster.engine.now
        log.entries.append(
            Entry(log.end, replica.knows, now, None, pid, pepoch, count, marker=marker)
        )
        return False

    def _check(self, log: Log, request: Request) -> tuple[str, int | None]:
        """The broker's check of an idempotent producer's numbering."""
        if not request.pid:
            return "ok", None
        if request.pepoch < log.fence(request.pid):
            return "fenced", None
        known = log.find(request.pid, request.pepoch, request.number)
        if known is not None:
            return "duplicate", known.offset
        last = log.last_of(request.pid)
        if last is None:
            # Brokers that know nothing of a producer take any number.
            return "ok", None
        follows = last.number + 1 if last.pepoch == request.pepoch else 0
        return ("ok" if request.number == follows else "out-of-order"), None

    def fetch(self) -> None:
        """Let the followers copy from the leader, and the leader draw its conclusions."""
        engine, cluster = self.cluster.engine, self.cluster
        broker = self.leader
        leading = self.replicas.get(broker)
        if leading is None or not leading.leads or not cluster.serves(broker):
            return
        for other, replica in self.replicas.items():
            if other == broker or not cluster.serves(other) or replica.knows != leading.knows:
                continue
            if engine.draw("fetch", self.number, other, engine.now) < cluster.slowness:
                continue
            cut = replica.log.common(leading.log)
            if cut < replica.log.end and cluster.flaw.strikes(
                "keep-what-the-leader-lacks", partition=self, broker=other
            ):
                cut = replica.log.end
            replica.log.truncate(cut)
            replica.log.entries.extend(leading.log.entries[replica.log.end :])
            replica.high = min(leading.high, replica.log.end)
            replica.caught_up = engine.now
        self._keep_isr(broker)
        self.settle(broker)

    def _keep_isr(self, broker: int) -> None:
        now, leading = self.cluster.engine.now, self.replicas[broker]
        if leading.knows != self.epoch or not self.cluster.zookeeper_up:
            return
        lagging = [
            other
            for other in self.isr
            if other != broker and now - self.replicas[other].caught_up > LAG_MAX
        ]
        fit = [
            other
            for other, replica in self.replicas.items()
            if other not in self.isr
            and self.cluster.registered(other)
            and replica.caught_up == now
            and replica.log.end >= leading.high
        ]
        if lagging or fit:
            wanted = [other for other in self.isr if other not in lagging] + fit
            self.write_state(broker, self.epoch, wanted)

    def settle(self, broker: int) -> None:
        """Advance the leader's high watermark and answer who waits for it."""
        leading = self.replicas[broker]
        if leading.knows != self.epoch or len(self.isr) < self.cluster.min_insync:
            return
        ends = [self.replicas[other].log.end for other in self.isr]
        leading.high = max(leading.high, min(ends))
        for item in [item for item in self.waiting if item.broker == broker]:
            if item.offset < leading.high:
                self.waiting.remove(item)
                item.request.reply("ok", item.offset)
