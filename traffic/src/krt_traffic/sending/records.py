"""The sends of one incarnation: in flight, in an open transaction, done.

Two threads meet here. The producer's thread moves sends forward; the ledger's thread reads all of
them twice a second. There is no lock, so the producer never waits: every move adds before it
removes, and the ledger copies the sends on their way before it takes those that are done. It thus
sees each send at least once, and knows which it sees twice.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from krt_contract.ledger import table_of
from krt_contract.outcomes import SendOutcome, TransactionOutcome
from krt_traffic.clock import both, wall
from krt_traffic.metrics.histogram import Histogram
from krt_traffic.sending.acknowledgements import PACK, Acknowledgements, Columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from krt_contract.clients import ProducerSpec
    from krt_traffic.producer.schedule import Schedule

IN_FLIGHT = "in flight when last flushed"
"""Error of a row written before its send was done; stays only when the incarnation is killed."""

ACKED: Final = SendOutcome.ACKED
ACKED_TEXT: Final = ACKED.value
"""Key of its count, which changes with every record: a member of the enumeration has to be compared
with the keys."""

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
        self._partitions_of_keys = pa.array([at for _, at in self._routes], pa.int32())

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

    def next_routes(self, count: int) -> list[Route]:
        """Return key and partition of the next records: round robin over keys dealt out in turn.

        Not chosen by a hash, so that each partition has operations due at a steady rate.
        """
        routes = self._routes
        start = self.attempted % len(routes)
        found = routes[start : start + count]
        while len(found) < count:
            found += routes[: count - len(found)]
        return found

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
        self.counts[ACKED_TEXT] += 1
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
        sends = in_flight | {seq: record.sent for seq, record in in_transaction.items()}
        self._lingering = self._find_lingering(sends, acked, done)
        for seq in self._lingering:
            del sends[seq]
        self._measure(acked, done, in_flight.keys() & sends.keys())
        tables = [self._acked_table(acked)] if len(acked) else []
        tables += [self._table(done)] if done or not tables else []
        return pa.concat_tables(tables), self._unknown_table(sends)

    def summary(self) -> dict[str, Sequence[Any]]:
        """Return the row of ``producer_summary``: counts kept apart from the rows."""
        counts = {"attempted": self.attempted, **self.counts}
        return {
            "producer": [self._member],
            "producer_incarnation": [self._incarnation],
            **{name: [count] for name, count in counts.items()},
            "at": [wall()],
        }

    def routes(self, seqs: pa.Int64Array) -> tuple[pa.StringArray, pa.Int32Array]:
        """Return the keys and the partitions of sends, as ``next_routes`` gives them."""
        count = len(self._routes)
        index = pc.subtract(seqs, pc.multiply(pc.divide(seqs, count), count))
        return self._keys.take(index), self._partitions_of_keys.take(index)

    def _find_lingering(
        self, sends: Mapping[int, Sent], acked: Columns, done: Sequence[Done]
    ) -> set[int]:
        """Return those that were done and not yet removed when they were copied, now or before."""
        settled = self._lingering.union(record.seq for record in done)
        if sends:
            # As numbers of Python, only the few that can be among them.
            late = acked.seq.filter(pc.greater_equal(acked.seq, min(sends)))
            settled.update(late.to_pylist())
        return settled.intersection(sends)

    def _measure(self, acked: Columns, done: Sequence[Done], in_flight: Collection[int]) -> None:
        open_seqs = [*in_flight, *(one.seq for one in done if one.outcome is not ACKED)]
        _, partitions = self.routes(pa.array(open_seqs, pa.int64()))
        self.unacknowledged = set(pc.unique(partitions).to_pylist())
        for sends in (acked, _columns([record for record in done if record.outcome is ACKED])):
            self.latency.observe(sends.latencies(self.schedule))

    def _acked_table(self, acked: Columns) -> pa.Table:
        nothing = pa.nulls(len(acked))
        return self._ledger_rows(
            acked,
            outcome=pa.repeat(ACKED_TEXT, len(acked)),
            error=nothing,
            transaction=nothing,
            transaction_outcome=nothing,
        )

    def _unknown_table(self, sends: Mapping[int, Sent]) -> pa.Table:
        """Return rows of sends that are not done."""
        count, sents = len(sends), list(sends.values())
        at, now = both()
        return self._ledger_rows(
            Columns(
                seq=pa.array(list(sends), pa.int64()),
                sent_at=pa.array([sent.at for sent in sents], pa.int64()),
                sent_mono=pa.array([sent.mono for sent in sents], pa.int64()),
                done_at=pa.repeat(at, count),
                done_mono=pa.repeat(now, count),
                offset=pa.nulls(count, pa.int64()),
            ),
            outcome=pa.repeat(SendOutcome.UNKNOWN.value, count),
            error=pa.repeat(IN_FLIGHT, count),
            transaction=[sent.transaction for sent in sents],
            transaction_outcome=pa.nulls(count),
        )

    def _table(self, rows: Sequence[Done]) -> pa.Table:
        return self._ledger_rows(
            _columns(rows),
            outcome=[record.outcome for record in rows],
            error=[record.error for record in rows],
            transaction=[record.sent.transaction for record in rows],
            transaction_outcome=[record.transaction_outcome for record in rows],
        )

    def _ledger_rows(
        self, sends: Columns, *, transaction_outcome: Sequence[Any], **columns: Sequence[Any]
    ) -> pa.Table:
        """Return rows of ``produce``: the columns given, and those that are derived."""
        count = len(sends)
        keys, partitions = self.routes(sends.seq)
        outcomes = pa.array(transaction_outcome, pa.string())
        if self._plan.transactions is not None:
            outcomes = pc.fill_null(outcomes, TransactionOutcome.UNKNOWN.value)
        return table_of(
            "produce",
            {
                "producer": pa.repeat(self._member, count),
                "producer_incarnation": pa.repeat(self._incarnation, count),
                "seq": sends.seq,
                "topic": pa.repeat(self._plan.topic, count),
                "partition": partitions,
                "key": keys,
                "scheduled_at": sends.scheduled_at(self.schedule),
                "sent_at": sends.sent_at,
                "done_at": sends.done_at,
                "sent_mono": sends.sent_mono,
                "done_mono": sends.done_mono,
                "offset": sends.offset,
                "transaction_outcome": outcomes,
                **columns,
            },
        )


def _columns(rows: Sequence[Done]) -> Columns:
    """Return what the rows have as numbers, but for their transaction."""

    def column(values: Iterable[int | None]) -> pa.Int64Array:
        return pa.array(values, pa.int64())

    return Columns(
        seq=column(record.seq for record in rows),
        sent_at=column(record.sent.at for record in rows),
        sent_mono=column(record.sent.mono for record in rows),
        done_at=column(record.at for record in rows),
        done_mono=column(record.mono for record in rows),
        offset=column(record.offset for record in rows),
    )
