"""Deliveries and events of one incarnation, in the order that their shared counter gives them."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from confluent_kafka import TIMESTAMP_CREATE_TIME

from krt_contract.ledger import table_of
from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome
from krt_contract.payload import decode
from krt_contract.schemas import TABLES
from krt_traffic.clock import EventClock, both, wall
from krt_traffic.metrics.histogram import Histogram

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message


FOREIGN = (None, None, None, None, False)
"""What stands in a row for the payload where the value is none of ours."""

ROW_BYTES = 480
"""Memory of a delivery until a flush takes it, by tracemalloc; for the bound on what waits."""


class EventBuffer:
    """Collects rows; written by the consumer's thread, taken by the ledger's.

    Args:
        member: consumer identity, ``<name>-<replica>``.
        incarnation: pod uid.
        group: consumer group.
        processes_at_once: whether a record is processed as it is delivered; otherwise
            ``processed_at`` stays null, and a later event says when.

    Attributes:
        delivered: records delivered.
        event_counts: events by name.
        latency: time from a record's timestamp to its delivery, up to the last ``deliveries``.
        group: consumer group.
        generation: the group's generation that the member belongs to, None where not known; the
            events of the member carry it.
        poll: number of the current poll.
    """

    def __init__(
        self, member: str, incarnation: str, group: str, *, processes_at_once: bool
    ) -> None:
        self.delivered = 0
        self.event_counts = {event.value: 0 for event in ConsumerEvent}
        self.latency = Histogram()
        self.group = group
        self.generation: int | None = None
        self.poll = 0
        self._who = (member, incarnation, group)
        self._at_once = processes_at_once
        self._clock = EventClock()
        self._event_seq = 0
        self._deliveries: deque[tuple[Any, ...]] = deque()
        self._in_transaction: list[tuple[Any, ...]] = []
        # A delivery must not be seen twice, or not at all, while its transaction is resolved.
        self._moving = threading.Lock()
        self._events: deque[tuple[Any, ...]] = deque()
        self._latencies: list[int] = []

    @property
    def waiting_bytes(self) -> int:
        """Memory of the deliveries that wait for a flush, in bytes."""
        return len(self._deliveries) * ROW_BYTES

    def deliver(
        self,
        message: Message,
        index: int,
        transaction: int | None = None,
        output_seq: int | None = None,
    ) -> None:
        """Deliver one record, as number ``index`` of the current poll.

        Args:
            message: the record.
            index: its number within the poll, from 0.
            transaction: ordinal of the transaction it is delivered in, until whose ``resolve``
                its outcome is unknown; None outside transactions.
            output_seq: seq of the output record made of it.
        """
        at, now = self._clock.both()
        value = message.value()
        payload = decode(value if isinstance(value, bytes) else None)
        row = (
            *self._who,
            self._next(),
            self.poll,
            index,
            message.topic(),
            message.partition(),
            message.offset(),
            *(payload or FOREIGN),
            at,
            now,
            wall() if self._at_once else None,
            DeliveryOutcome.OK if transaction is None else DeliveryOutcome.UNKNOWN,
            transaction,
            output_seq,
        )
        kind, created = message.timestamp()
        with self._moving:
            (self._deliveries if transaction is None else self._in_transaction).append(row)
            if kind == TIMESTAMP_CREATE_TIME:
                self._latencies.append(at - created * 1000)
        self.delivered += 1

    def resolve(self, outcome: DeliveryOutcome) -> None:
        """Settle the deliveries of the transaction that ended: ok, failed or unknown."""
        with self._moving:
            self._deliveries.extend(
                (*row[:_OUTCOME], outcome, *row[_OUTCOME + 1 :]) for row in self._in_transaction
            )
            self._in_transaction.clear()

    def event(  # noqa: PLR0913 - the columns of an event
        self,
        name: ConsumerEvent,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        *,
        member_id: str | None = None,
        detail: str | None = None,
        transaction: int | None = None,
    ) -> None:
        """Record an event of the member or of one of its partitions."""
        self.event_counts[name] += 1
        at, now = both()
        where = (topic, partition, offset)
        rest = (self.generation, member_id, detail, transaction)
        self._events.append((*self._who, self._next(), self.poll, at, now, name, *where, *rest))

    def deliveries(self) -> tuple[pa.Table, pa.Table]:
        """Return the deliveries settled since the last call, and all that are not settled yet.

        For the ledger's thread. No delivery is in both, or was settled in an earlier call.
        """
        with self._moving:
            settled = [self._deliveries.popleft() for _ in range(len(self._deliveries))]
            unsettled = self._in_transaction.copy()
            latencies, self._latencies = self._latencies, []
        self.latency.observe(latencies)
        return _table("consume", settled), _table("consume", unsettled)

    def events(self) -> pa.Table:
        """Return the events since the last call; for the ledger's thread."""
        events = self._events
        return _table("consumer_events", [events.popleft() for _ in range(len(events))])

    def _next(self) -> int:
        seq = self._event_seq
        self._event_seq = seq + 1
        return seq


_OUTCOME = TABLES["consume"].names.index("outcome")


def _table(name: str, rows: list[tuple[Any, ...]]) -> pa.Table:
    names = TABLES[name].names
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return table_of(name, dict(zip(names, columns, strict=True)))
