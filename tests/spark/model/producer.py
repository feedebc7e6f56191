"""A producer's client: queues, requests in flight, retries, and its ledger."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.spark.model.engine import MS, SECOND
from tests.spark.model.log import Record
from tests.spark.model.partition import NO_LEADER, Request
from tests.spark.model.sends import Lane, Send

if TYPE_CHECKING:
    from tests.spark.model.scenario import ProducerPlan
    from tests.spark.model.world import World

BACKOFF = 100 * MS
FLUSH = 500 * MS
TORN = 0.5
"""Chance that a request under way is lost with its connection."""

IN_FLIGHT = "in flight when last flushed"


class Producer:
    """One incarnation.

    Args:
        world: where it runs.
        plan: its settings.
        life: 0 for the first incarnation.
    """

    def __init__(self, world: World, plan: ProducerPlan, life: int) -> None:
        self.world, self.plan, self.life = world, plan, life
        self.incarnation = f"{plan.name}-{life}"
        self.sends: list[Send] = []
        self.rows: dict[int, dict[str, Any]] = {}
        self.alive, self.stopped, self.closed_at = True, False, 0
        self.lanes = [Lane() for _ in world.cluster.partitions]
        self.pid = plan.name if plan.transactional else self.incarnation if plan.idempotent else ""
        self.pepoch = life
        self.draining = False
        self._began = world.engine.now
        self._arrival: dict[int, int] = {}
        self._connection: dict[int, int] = {}
        self._torn: set[tuple[int, int]] = set()
        self._requests = 0
        world.cluster.broken.append(self.disconnect)
        world.engine.every(FLUSH, self._flush)

    # The application's side.
    def start(self) -> None:
        """Begin to send on schedule."""
        self._began = self.world.engine.now
        self.world.engine.every(20 * MS, self._tick)

    def _tick(self) -> bool:
        if not self.alive or self.stopped:
            return False
        due = (self.world.engine.now - self._began) * self.plan.rate // SECOND
        while len(self.sends) < due:
            self.send()
        return True

    def due_at(self, seq: int) -> int:
        """Return when a record is due."""
        return self._began + seq * SECOND // self.plan.rate

    def send(self, transaction: int | None = None) -> None:
        """Hand the next record to the client."""
        world, seq = self.world, len(self.sends)
        key = seq % world.scenario.keys
        partition = key % len(self.lanes)
        record = Record(
            f"{self.plan.name}-0",
            self.incarnation,
            seq,
            f"k{key}",
            partition,
            transaction,
        )
        now = world.engine.now
        send = Send(record, min(self.due_at(seq), now), now)
        self.sends.append(send)
        world.by_record[record] = send
        if world.engine.draw("full", self.incarnation, seq) < self.plan.full:
            send.end("failed", now, "_QUEUE_FULL")
            if not world.flaw.strikes("send-refused", producer=self, send=send):
                return
            send.number = None
        self.lanes[partition].queue.append(send)
        world.engine.after(self.plan.timeout, lambda: self._expire(send))
        self.pump(partition)

    # The client's side.
    def pump(self, partition: int) -> None:
        """Put what may go on the wire."""
        lane, world = self.lanes[partition], self.world
        broker = world.cluster.partitions[partition].leader
        while self.alive and lane.queue and len(lane.flying) < self.plan.in_flight:
            if broker == NO_LEADER or not world.cluster.brokers[broker].up:
                world.engine.after(BACKOFF, lambda: self.pump(partition))
                return
            elsewhere = any(other != broker for _, other in lane.flying.values())
            if self.pid and (self.draining or elsewhere):
                return
            several = len(lane.queue) > 1
            swap = several and world.flaw.strikes("swap-sends", producer=self, queue=lane.queue[:2])
            self._transmit(lane, lane.queue.pop(1 if swap else 0), broker)

    def _transmit(self, lane: Lane, send: Send, broker: int) -> None:
        world, partition = self.world, send.record.partition
        if self.pid and send.number is None:
            send.number = lane.numbered
            lane.numbered += 1
        send.tries += 1
        self._requests += 1
        serial = self._requests
        lane.flying[serial] = (send, broker)
        name = (self.incarnation, send.record.seq, send.tries)
        latency = world.engine.between(1 * MS, 12 * MS, "wire", *name)
        arrival = max(world.engine.now + latency, self._arrival.get(broker, 0))
        self._arrival[broker] = arrival

        def reply(answer: str, offset: int | None) -> None:
            back = world.engine.between(1 * MS, 8 * MS, "reply", *name)
            world.engine.after(back, lambda: self._answer(partition, serial, answer, offset))

        request = Request(
            send.record, self.plan.acks, reply, self.pid, self.pepoch, send.number or 0
        )
        target = world.cluster.partitions[partition]
        if world.flaw.strikes("misroute", producer=self, send=send):
            others = [item for item in world.cluster.partitions if item is not target]
            target = next(item for item in others if item.replicas[broker].leads)
        connection = (broker, self._connection.get(broker, 0))

        def arrive() -> None:
            if self._passes(connection, name):
                world.cluster.deliver(broker, lambda: target.produce(broker, request))

        world.engine.after(arrival - world.engine.now, arrive)
        if self.plan.acks == "0":
            request.reply = lambda answer, offset: None  # noqa: ARG005 - nobody answers
            world.engine.after(latency, lambda: self._answer(partition, serial, "ok", None))
        else:
            wait = self.plan.request_timeout
            world.engine.after(wait, lambda: self._answer(partition, serial, "timeout", None))

    def _passes(self, connection: tuple[int, int], name: tuple[object, ...]) -> bool:
        """Whether a request arrives: of a broken connection only what went before the break."""
        broker, number = connection
        if number == self._connection.get(broker, 0):
            return True
        if connection not in self._torn and self.world.engine.draw("torn", *name) < TORN:
            self._torn.add(connection)
        return connection not in self._torn

    def _answer(self, partition: int, serial: int, answer: str, offset: int | None) -> None:
        lane = self.lanes[partition]
        if serial not in lane.flying or not self.alive:
            return
        send, _ = lane.flying.pop(serial)
        if send.outcome is not None:
            pass
        elif answer == "ok":
            told = self.world.flaw.strikes("ack-elsewhere", producer=self, send=send, offset=offset)
            send.offset = (offset - 1) if told and offset else offset
            if self.plan.acks == "0":
                send.offset = None
            send.end("acked", self.world.engine.now)
        elif answer == "fenced":
            send.end("unknown", self.world.engine.now, "_FENCED")
        elif not self.plan.retries:
            certain = answer == "not-enough-replicas"
            error = "NOT_ENOUGH_REPLICAS" if certain else "_TRANSPORT"
            send.end("failed" if certain else "unknown", self.world.engine.now, error)
        else:
            lane.queue.append(send)
            lane.queue.sort(key=lambda item: item.record.seq)
            if answer == "out-of-order" and not lane.flying:
                self.draining = True
            self.world.engine.after(BACKOFF, lambda: self.pump(partition))
        self._drained()
        self.pump(partition)

    def _drained(self) -> None:
        """Once nothing is in flight anywhere, number anew under the next epoch."""
        if not self.draining or any(lane.flying for lane in self.lanes):
            return
        self.draining = False
        self.pepoch += 1
        for number, lane in enumerate(self.lanes):
            lane.numbered = 0
            for send in lane.queue:
                send.number = None
            self.pump(number)

    def _expire(self, send: Send) -> None:
        """message.timeout.ms has passed: what became of it is unknown."""
        if send.outcome is not None or not self.alive:
            return
        send.end("unknown", self.world.engine.now, "_MSG_TIMED_OUT")
        lane = self.lanes[send.record.partition]
        if send in lane.queue:
            lane.queue.remove(send)
        if self.pid:
            self.draining = True
            self._drained()

    def disconnect(self, broker: int) -> None:
        """The connection to a broker broke: nothing on it will be answered."""
        self._connection[broker] = self._connection.get(broker, 0) + 1
        for number, lane in enumerate(self.lanes):
            for serial in [key for key, (_, to) in lane.flying.items() if to == broker]:
                self.world.engine.after(
                    2 * MS, partial(self._answer, number, serial, "transport", None)
                )

    @property
    def idle(self) -> bool:
        """Whether nothing is queued or on the wire."""
        return not any(lane.queue or lane.flying for lane in self.lanes)

    # The ledger.
    def _flush(self) -> bool:
        if not self.alive or self.closed_at:
            return False
        now = self.world.engine.now
        for send in self.sends:
            known = self.rows.get(send.record.seq)
            if known is None or known["error"] == IN_FLIGHT:
                self.rows[send.record.seq] = self._row(send, now)
        return True

    def _row(self, send: Send, now: int) -> dict[str, Any]:
        held = send.record.transaction is not None and send.fate is None
        settled = send.outcome is not None and not held
        return {
            "record": send.record,
            "due": send.due,
            "sent": send.sent,
            "done": send.done if settled else now,
            "outcome": send.outcome if settled else "unknown",
            "offset": send.offset if settled else None,
            "error": send.error if settled else IN_FLIGHT,
            "fate": (send.fate or "unknown") if send.record.transaction is not None else None,
        }

    def kill(self) -> None:
        """SIGKILL: what was not flushed is not in the ledger."""
        for broker in self.world.cluster.brokers:
            self.disconnect(broker)
        self.alive = False

    def close(self) -> None:
        """End in order; what is still in flight is unknown."""
        now = self.world.engine.now
        for send in self.sends:
            if send.outcome is None:
                send.end("unknown", now, "_PURGE_QUEUE")
            if send.record.transaction is not None and send.fate is None:
                send.fate = "unknown"
                send.outcome = "unknown" if send.outcome == "acked" else send.outcome
        self._flush()
        self.closed_at = now
        self.alive = False
