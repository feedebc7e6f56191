"""Transactions: their coordinator, and a producer that writes in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.spark.model.engine import MS, SECOND
from tests.spark.model.producer import Producer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.spark.model.scenario import ProducerPlan
    from tests.spark.model.world import World

RETRY = 50 * MS


@dataclass(slots=True)
class Transaction:
    """What the coordinator knows of a transactional id.

    Attributes:
        pepoch: the producer epoch in force.
        partitions: with writes of the open transaction.
        decision: committed or aborted, once it is logged; None before.
        count: transactions decided.
    """

    pepoch: int = 0
    partitions: set[int] = field(default_factory=set)
    decision: str | None = None
    count: int = 0


class Coordinator:
    """The transaction coordinator: a decision once logged is carried out."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[str, Transaction] = {}

    def of(self, pid: str) -> Transaction:
        """Return the state of a transactional id."""
        return self._known.setdefault(pid, Transaction())

    def initialise(self, pid: str, done: Callable[[int], None]) -> None:
        """InitProducerId: fence whoever wrote before, abort what it left open."""
        known = self.of(pid)
        if known.decision is None and known.partitions:
            known.pepoch += 1
            self.end(pid, known.pepoch, "aborted", lambda: self.initialise(pid, done))
        elif known.decision is not None:
            self._world.engine.after(RETRY, lambda: self.initialise(pid, done))
        else:
            known.pepoch += 1
            done(known.pepoch)

    def end(self, pid: str, pepoch: int, decision: str, done: Callable[[], None]) -> None:
        """EndTxn: log the decision, then write the markers."""
        known = self.of(pid)
        if pepoch != known.pepoch or known.decision is not None:
            return
        left = sorted(known.partitions)
        first = left[0] if left else None
        known.decision = decision
        known.count += 1
        count = known.count
        chosen = {
            number: self._world.flaw.marker(pid, number, decision, first=number == first)
            for number in left
        }

        def write() -> None:
            for number in list(left):
                partition = self._world.cluster.partitions[number]
                if partition.mark(pid, pepoch, count, chosen[number]):
                    left.remove(number)
            if left:
                self._world.engine.after(RETRY, write)
                return
            known.partitions, known.decision = set(), None
            done()

        delay = self._world.engine.between(5 * MS, 40 * MS, "markers", pid, self._world.engine.now)
        self._world.engine.after(delay, write)


class TransactionalProducer(Producer):
    """A producer that cuts its sends into transactions, some aborted on purpose."""

    def __init__(self, world: World, plan: ProducerPlan, life: int) -> None:
        super().__init__(world, plan, life)
        self.transaction = 0
        self._members: list[int] = []
        self._ending = False

    def start(self) -> None:
        """Register with the coordinator, then begin."""

        def ready(pepoch: int) -> None:
            self.pepoch = pepoch
            if self.alive:
                Producer.start(self)

        self._began = self.world.engine.now
        self.world.coordinator.initialise(self.pid, ready)

    def _tick(self) -> bool:
        if not self.alive:
            return False
        now = self.world.engine.now
        due = (now - self._began) * self.plan.rate // SECOND
        while not self.stopped and not self._ending and len(self.sends) < due:
            partition = len(self.sends) % self.world.scenario.keys % len(self.lanes)
            self.world.coordinator.of(self.pid).partitions.add(partition)
            self._members.append(len(self.sends))
            self.send(self.transaction)
            if len(self._members) >= self.plan.transactional:
                self._ending = True
        if self.stopped and self._members:
            self._ending = True
        if self._ending and self.idle and self._members:
            self._end()
        return not (self.stopped and not self._ending)

    def _end(self) -> None:
        """Ask for the end and settle the sends when it is confirmed."""
        world, ordinal = self.world, self.transaction
        members, self._members = self._members, []
        self.transaction += 1
        aborted = world.engine.draw("abort", self.incarnation, ordinal) < self.plan.aborts
        whole = all(self.sends[seq].outcome in ("acked", "failed") for seq in members)
        decision = "committed" if whole and not aborted else "aborted"

        def confirmed() -> None:
            back = world.engine.between(1 * MS, 9 * MS, "ended", self.incarnation, ordinal)
            world.engine.after(back, settle)

        def settle() -> None:
            if not self.alive:
                return
            for seq in members:
                send = self.sends[seq]
                send.fate = decision
                if decision == "aborted":
                    send.outcome = "failed"
            self._ending = False

        ask = world.engine.between(1 * MS, 9 * MS, "end", self.incarnation, ordinal)
        world.engine.after(
            ask, lambda: world.coordinator.end(self.pid, self.pepoch, decision, confirmed)
        )
