"""Deliveries and events of one incarnation, in the one order their shared counter gives them."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from krt_contract.ledger import table_of
from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome
from krt_contract.payload import decode
from krt_contract.schemas import TABLES
from krt_traffic.clock import both, wall

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message


class Journal:
    """Collects rows; written by the consumer's thread, taken by the ledger's.

    Args:
        member: consumer identity, ``<name>-<replica>``.
        incarnation: pod uid.
        group: consumer group.
        processes_at_once: whether a record is processed as it is handed out; otherwise
            ``processed_at`` stays null and a later event tells.

    Attributes:
        delivered: records handed out.
        poll: number of the current poll.
    """

    def __init__(
        self, member: str, incarnation: str, group: str, *, processes_at_once: bool
    ) -> None:
        self.delivered = 0
        self.poll = 0
        self._who = (member, incarnation, group)
        self._at_once = processes_at_once
        self._n = 0
        self._deliveries: deque[tuple[Any, ...]] = deque()
        self._held: list[tuple[Any, ...]] = []
        # A delivery must not be seen twice, or not at all, while it moves from held to settled.
        self._moving = threading.Lock()
        self._events: deque[tuple[Any, ...]] = deque()

    def hand(
        self,
        message: Message,
        position: int,
        transaction: int | None = None,
        output_seq: int | None = None,
    ) -> None:
        """Hand one record out, as ``position`` of the current poll.

        Args:
            message: the record.
            position: its place in the poll.
            transaction: the one it is handed out in: until ``decide`` its outcome is unknown.
            output_seq: seq of the record it is made into.
        """
        at, now = both()
        value = message.value()
        payload = decode(value if isinstance(value, bytes) else None)
        identity = (
            (None, None, None, None)
            if payload is None
            else (payload.run_uid, payload.producer, payload.producer_incarnation, payload.seq)
        )
        where = (message.topic(), message.partition(), message.offset())
        row = (
            *self._who,
            self._next(),
            self.poll,
            position,
            *where,
            *identity,
            payload is not None and payload.checksum_ok,
            at,
            now,
            wall() if self._at_once else None,
            DeliveryOutcome.OK if transaction is None else DeliveryOutcome.UNKNOWN,
            transaction,
            output_seq,
        )
        with self._moving:
            (self._deliveries if transaction is None else self._held).append(row)
        self.delivered += 1

    def decide(self, outcome: DeliveryOutcome) -> None:
        """Settle what was handed out in the transaction that ended: ok, failed or unknown."""
        with self._moving:
            self._deliveries.extend(
                (*row[:_OUTCOME], outcome, *row[_OUTCOME + 1 :]) for row in self._held
            )
            self._held.clear()

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
        """Note an event of the member as a whole or of one partition.

        The client does not hand out its generation, so that column is null.
        """
        at, now = both()
        place = (topic, partition, offset)
        told = (None, member_id, detail, transaction)
        self._events.append((*self._who, self._next(), self.poll, at, now, name, *place, *told))

    def deliveries(self) -> tuple[pa.Table, pa.Table]:
        """Return the deliveries settled since the last call, and all that are not; for the ledger.

        No delivery is in both, or was settled in an earlier call.
        """
        with self._moving:
            settled = [self._deliveries.popleft() for _ in range(len(self._deliveries))]
            held = self._held.copy()
        return _table("consume", settled), _table("consume", held)

    def events(self) -> pa.Table:
        """Return the events since the last call; for the ledger's thread."""
        events = self._events
        return _table("consumer_events", [events.popleft() for _ in range(len(events))])

    def _next(self) -> int:
        n = self._n
        self._n = n + 1
        return n


_OUTCOME = TABLES["consume"].names.index("outcome")


def _table(name: str, rows: list[tuple[Any, ...]]) -> pa.Table:
    names = TABLES[name].names
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return table_of(name, dict(zip(names, columns, strict=True)))
