"""Deliveries and events of one incarnation, in the one order their shared counter gives them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from krt_evidence.ledger import table_of
from krt_evidence.payload import decode
from krt_evidence.schemas import TABLES
from krt_traffic.clock import mono, wall

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

OK = "ok"


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
        self._events: deque[tuple[Any, ...]] = deque()

    def hand(self, message: Message, position: int) -> None:
        """Hand one record out, as ``position`` of the current poll."""
        at, now = wall(), mono()
        value = message.value()
        payload = decode(value if isinstance(value, bytes) else None)
        identity = (
            (None, None, None, None)
            if payload is None
            else (payload.run_uid, payload.producer, payload.producer_incarnation, payload.seq)
        )
        where = (message.topic(), message.partition(), message.offset())
        self._deliveries.append(
            (
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
                OK,
            )
        )
        self.delivered += 1

    def event(  # noqa: PLR0913 - the columns of an event
        self,
        name: str,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        *,
        member_id: str | None = None,
        detail: str | None = None,
    ) -> None:
        """Note an event of the member as a whole or of one partition.

        The client does not hand out its generation, so that column is null.
        """
        at, now = wall(), mono()
        place = (topic, partition, offset)
        self._events.append(
            (*self._who, self._next(), self.poll, at, now, name, *place, None, member_id, detail)
        )

    def deliveries(self) -> pa.Table:
        """Return the deliveries since the last call; for the ledger's thread."""
        return _take("consume", self._deliveries)

    def events(self) -> pa.Table:
        """Return the events since the last call; for the ledger's thread."""
        return _take("consumer_events", self._events)

    def _next(self) -> int:
        n = self._n
        self._n = n + 1
        return n


def _take(name: str, rows: deque[tuple[Any, ...]]) -> pa.Table:
    taken = [rows.popleft() for _ in range(len(rows))]
    names = TABLES[name].names
    columns = zip(*taken, strict=True) if taken else [()] * len(names)
    return table_of(name, dict(zip(names, columns, strict=True)))
