"""The sends of one incarnation: in flight, in an open transaction, done.

Two threads meet here. The producer's thread moves sends forward; the ledger's thread reads all of
them twice a second. There is no lock, so the producer never waits: every move adds before it
removes, and the ledger copies the sends on their way before it takes those that are done. It thus
sees each send at least once, and knows which it sees twice.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from krt_contract.ledger import table_of
from krt_contract.outcomes import SendOutcome, TransactionOutcome
from krt_traffic.clock import both, wall
from krt_traffic.metrics.histogram import Histogram
from krt_traffic.sending.acknowledgements import PACK, Acknowledged, Acknowledgements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_contract.clients import ProducerSpec
    from krt_traffic.producer.schedule import Schedule

IN_FLIGHT = "in flight when last flushed"
"""Error of a row written before its send was done; stays only when the incarnation is killed."""

ACKED = SendOutcome.ACKED
"""Looked up once, not for every record."""

ROW_BYTES = 250
"""Memory of a done send until a flush has written it, for the bound on what waits: as an object, by
tracemalloc. A packed one takes a fifth, but the columns that a flush makes of it take the rest."""

Route = tuple[str | None, int]
"""Key and partition of a record."""


class Sent(NamedTuple):
    """What all sends of one call to the client have in common.

    Attributes:
        at: UTC microseconds.
        mono: monotonic microseconds.
        transaction: ordinal of the open transaction, None outside transactions.
    """

    at: int
    mono: int
    transaction: int | None


class Done(NamedTuple):
    """A send with its outcome; the fields are those of the ledger."""

    seq: int
    sent: Sent
    at: int
    mono: int
    offset: int | None
    outcome: SendOutcome
    error: str | None
    transaction_outcome: TransactionOutcome | None = None


class Records:
    """All sends of one incarnation and the counts over them.

    Args:
        plan: the entry of the plan it plays.
        member: producer identity, ``<name>-<replica>``.
        incarnation: pod uid.

    Attributes:
        schedule: when records are due; None where they are sent as fast as the client takes them.
            Set before the first send.
        in_flight: sends the client has not reported on.
        in_transaction: sends the client has reported on whose transaction is open.
        attempted: sends begun, counted apart from the rows.
        counts: done sends by outcome.
        latency: time from when a send was due to its acknowledgement, up to the last snapshot.
        unacknowledged: partitions with sends that were in flight at the last snapshot, or were done
            since the one before and not acknowledged.
    """

    def __init__(self, plan: ProducerSpec, member: str, incarnation: str) -> None:
        self.in_flight: dict[int, Sent] = {}
        self.in_transaction: dict[int, Done] = {}
        self.attempted = 0
        self.counts = {outcome.value: 0 for outcome in SendOutcome}
        self.latency = Histogram()
        self.unacknowledged: set[int] = set()
        self._acked = Acknowledgements()
        self._done: deque[Done] = deque()
        self._lingering: set[int] = set()
        self._plan = plan
        self.schedule: Schedule | None = None
        self._member, self._incarnation = member, incarnation
        self._routes: list[Route] = [
            (f"k{index}", index % plan.partitions) for index in range(plan.key_count)
        ]
        self._keys = pa.array([key for key, _ in self._routes], pa.string())
        self._route_partitions = pa.array([at for _, at in self._routes], pa.int32())

    @property
    def waiting_bytes(self) -> int:
        """Memory of the sends that are done and wait for a flush, in bytes."""
        return (len(self._done) + self._acked.count) * ROW_BYTES

    @property
    def topic(self) -> str:
        """Topic of all sends."""
        return self._plan.topic

    @property
    def partitions(self) -> list[int]:
        """Partitions that are sent to."""
        return sorted({partition for _, partition in self._routes})

    def route(self, seq: int) -> Route:
        """Return key and partition of record ``seq``: round robin over keys dealt out in turn.

        Not chosen by a hash, so that each partition has operations due at a steady rate.
        """
        return self._routes[seq % len(self._routes)]

    def report(self, record: Done) -> None:
        """Take the client's report on a send: done, unless its transaction is open."""
        if record.sent.transaction is None:
            self.done(record)
        else:
            self.in_transaction[record.seq] = record
            del self.in_flight[record.seq]

    def acked(self, seq: int, sent: Sent, at: int, mono: int, offset: int) -> None:
        """Take the acknowledgement of a send outside transactions; the offset may be `NO_OFFSET`.

        The same as ``report``, for the one outcome that comes by the hundred thousand.
        """
        self.counts[ACKED] += 1
        self._acked.packed.extend(PACK(seq, sent[0], sent[1], at, mono, offset))
        del self.in_flight[seq]

    def done(self, record: Done) -> None:
        """Take the final outcome of a send."""
        self.counts[record.outcome] += 1
        self._done.append(record)
        self.in_transaction.pop(record.seq, None)
        self.in_flight.pop(record.seq, None)

    def snapshot(self) -> tuple[pa.Table, pa.Table]:
        """Return the sends done since the last call, and all others as unknown so far.

        For the ledger's thread. No send is in both or was done in an earlier call.
        """
        in_flight, in_transaction = self.in_flight.copy(), self.in_transaction.copy()
        acked = self._acked.take()
        done = [self._done.popleft() for _ in range(len(self._done))]
        # Done, and not yet removed when it was copied: now or at an earlier call.
        copied = [*in_flight, *in_transaction]
        now_acked = pc.is_in(pa.array(copied, pa.int64()), acked.seq).to_pylist()
        settled = self._lingering.union(record.seq for record in done)
        self._lingering = {
            seq
            for seq, is_acked in zip(copied, now_acked, strict=True)
            if is_acked or seq in settled
        }
        self._measure(acked, done, in_flight)
        at, now = both()
        sents = in_flight | {seq: record.sent for seq, record in in_transaction.items()}
        rows = [
            Done(seq, sent, at, now, None, SendOutcome.UNKNOWN, IN_FLIGHT)
            for seq, sent in sents.items()
            if seq not in self._lingering
        ]
        tables = [self._acked_table(acked)] if len(acked) else []
        tables += [self._table(done)] if done or not tables else []
        return pa.concat_tables(tables), self._table(rows)

    def summary(self) -> dict[str, Sequence[Any]]:
        """Return the row of ``producer_summary``: counts kept apart from the rows."""
        counts = {"attempted": self.attempted, **self.counts}
        return {
            "producer": [self._member],
            "producer_incarnation": [self._incarnation],
            **{name: [count] for name, count in counts.items()},
            "at": [wall()],
        }

    def routes(self, seqs: Sequence[int]) -> list[Route]:
        """Return the routes of sends, as ``route`` gives them."""
        routes, count = self._routes, len(self._routes)
        return [routes[seq % count] for seq in seqs]

    def route_columns(self, seqs: pa.Int64Array) -> tuple[pa.StringArray, pa.Int32Array]:
        """Return the keys and the partitions of sends, as ``route`` gives them."""
        count = len(self._routes)
        index = pc.subtract(seqs, pc.multiply(pc.divide(seqs, count), count))
        return self._keys.take(index), self._route_partitions.take(index)

    def _measure(
        self, acked: Acknowledged, done: Sequence[Done], in_flight: dict[int, Sent]
    ) -> None:
        due = None if self.schedule is None else self.schedule.at
        latencies = [
            record.mono - (record.sent.mono if due is None else due(record.seq))
            for record in done
            if record.outcome is ACKED
        ]
        open_seqs = [seq for seq in in_flight if seq not in self._lingering]
        open_seqs += [record.seq for record in done if record.outcome is not ACKED]
        self.unacknowledged = {partition for _, partition in self.routes(open_seqs)}
        self.latency.observe(latencies)
        self.latency.observe_column(acked.latencies(self.schedule))

    def _acked_table(self, acked: Acknowledged) -> pa.Table:
        count, nothing = len(acked), pa.nulls(len(acked))
        keys, partitions = self.route_columns(acked.seq)
        unknown = pa.repeat(TransactionOutcome.UNKNOWN.value, count)
        return table_of(
            "produce",
            {
                "producer": pa.repeat(self._member, count),
                "producer_incarnation": pa.repeat(self._incarnation, count),
                "seq": acked.seq,
                "topic": pa.repeat(self._plan.topic, count),
                "partition": partitions,
                "key": keys,
                "scheduled_at": acked.scheduled_at(self.schedule),
                "sent_at": acked.sent_at,
                "done_at": acked.done_at,
                "sent_mono": acked.sent_mono,
                "done_mono": acked.done_mono,
                "outcome": pa.repeat(ACKED.value, count),
                "offset": acked.offset,
                "error": nothing,
                "transaction": nothing,
                "transaction_outcome": nothing if self._plan.transactions is None else unknown,
            },
        )

    def _table(self, rows: Sequence[Done]) -> pa.Table:
        count = len(rows)
        columns: list[Any] = [list(column) for column in zip(*rows, strict=True)] or [[]] * 8
        seqs, sents, done_at, done_mono, offsets, outcomes, errors, transaction_outcomes = columns
        routes = self.routes(seqs)
        transactional = self._plan.transactions is not None
        return table_of(
            "produce",
            {
                "producer": pa.repeat(self._member, count),
                "producer_incarnation": pa.repeat(self._incarnation, count),
                "seq": seqs,
                "topic": pa.repeat(self._plan.topic, count),
                "partition": [partition for _, partition in routes],
                "key": [key for key, _ in routes],
                "scheduled_at": self._scheduled(seqs, sents),
                "sent_at": [sent.at for sent in sents],
                "done_at": done_at,
                "sent_mono": [sent.mono for sent in sents],
                "done_mono": done_mono,
                "outcome": outcomes,
                "offset": offsets,
                "error": errors,
                "transaction": [sent.transaction for sent in sents]
                if transactional
                else [None] * count,
                "transaction_outcome": [
                    outcome or TransactionOutcome.UNKNOWN for outcome in transaction_outcomes
                ]
                if transactional
                else transaction_outcomes,
            },
        )

    def _scheduled(self, seqs: Sequence[int], sents: Sequence[Sent]) -> list[int]:
        if self.schedule is None:
            return [sent.at for sent in sents]
        at = self.schedule.at
        # Both clocks as read at the send, so that sent_at - scheduled_at is a true duration.
        return [at(seq) - sent.mono + sent.at for seq, sent in zip(seqs, sents, strict=True)]
