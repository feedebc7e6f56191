"""Columns of every ledger table of a bundle, as Arrow schemas.

Times (``*_at``, ``at``, ``taken_at``) are UTC microseconds since the epoch, durations are
taken between ``*_mono`` values: microseconds of the host's CLOCK_MONOTONIC, comparable only
between records of one host. Both are plain int64, so that every reader computes with the same
integers and no time zone can come between. A nullable column is one that may honestly be
unknown; a column that is not nullable is never guessed.
"""

from __future__ import annotations

import pyarrow as pa


def _column(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


def _optional(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=True)


_TEXT, _BIG, _INT, _BOOL = pa.string(), pa.int64(), pa.int32(), pa.bool_()

PRODUCE = pa.schema(
    [
        _column("producer", _TEXT),
        _column("producer_incarnation", _TEXT),
        _column("seq", _BIG),
        _column("topic", _TEXT),
        _optional("partition", _INT),
        _optional("key", _TEXT),
        _column("scheduled_at", _BIG),
        _column("sent_at", _BIG),
        _column("done_at", _BIG),
        _column("sent_mono", _BIG),
        _column("done_mono", _BIG),
        _column("outcome", _TEXT),
        _optional("offset", _BIG),
        _optional("error", _TEXT),
        _optional("transaction", _BIG),
        _optional("transaction_outcome", _TEXT),
    ]
)
"""One row a send. ``outcome`` is acked, failed or unknown; ``offset`` is null where the broker
named none (always with acks=0); ``transaction`` is the ordinal of the transaction within the
incarnation, ``transaction_outcome`` committed, aborted or unknown."""

PRODUCER_SUMMARY = pa.schema(
    [
        _column("producer", _TEXT),
        _column("producer_incarnation", _TEXT),
        _column("attempted", _BIG),
        _column("acked", _BIG),
        _column("failed", _BIG),
        _column("unknown", _BIG),
        _column("at", _BIG),
    ]
)
"""One row an incarnation that ended in order. ``attempted`` is counted apart from the rows."""

CONSUME = pa.schema(
    [
        _column("consumer", _TEXT),
        _column("incarnation", _TEXT),
        _column("group", _TEXT),
        _column("event_seq", _BIG),
        _column("poll", _BIG),
        _column("poll_index", _INT),
        _column("topic", _TEXT),
        _column("partition", _INT),
        _column("offset", _BIG),
        _optional("run_uid", _TEXT),
        _optional("producer", _TEXT),
        _optional("producer_incarnation", _TEXT),
        _optional("seq", _BIG),
        _column("checksum_ok", _BOOL),
        _column("delivered_at", _BIG),
        _column("delivered_mono", _BIG),
        _optional("processed_at", _BIG),
        _column("outcome", _TEXT),
        _optional("transaction", _BIG),
        _optional("output_seq", _BIG),
    ]
)
"""One row a delivery. ``n`` is the counter that orders deliveries and consumer events of one
incarnation; ``delivered_at`` is when the application got the record, made durable before its
offset may be stored or committed; ``processed_at`` is null where processing had not ended when
the row was written (then a later ``processed`` event of the same poll tells). The identity
columns are null where the payload carries none of ours; ``outcome`` is ok, failed or unknown.

A consumer that consumes, transforms and produces hands out within a transaction: ``transaction``
is its ordinal within the incarnation, ``outcome`` its fate (ok: committed, failed: aborted,
unknown: undecided), and ``output_seq`` the seq of the record this one was made into, which
``produce`` holds under the same identity and incarnation."""

CONSUMER_EVENTS = pa.schema(
    [
        _column("consumer", _TEXT),
        _column("incarnation", _TEXT),
        _column("group", _TEXT),
        _column("event_seq", _BIG),
        _optional("poll", _BIG),
        _column("at", _BIG),
        _column("mono", _BIG),
        _column("event", _TEXT),
        _optional("topic", _TEXT),
        _optional("partition", _INT),
        _optional("offset", _BIG),
        _optional("generation", _INT),
        _optional("member_id", _TEXT),
        _optional("detail", _TEXT),
        _optional("transaction", _BIG),
    ]
)
"""One row a partition (or one without a partition for the member as a whole; ``assigned`` without
one gives the member nothing, and takes from it nothing that it has). ``event`` is one of
``outcomes.ConsumerEvent``; ``offset`` is the start position for assigned, the target for seek and
reset, the committed position for committed, commit_failed and commit_unknown, the position
after the last processed record for processed; ``detail`` is the error text where there is one,
for fetching (which broker a partition is read from now) ``{"broker", "leader"}`` as JSON;
``transaction`` is set where offsets were committed within one."""

LOG = pa.schema(
    [
        _column("topic", _TEXT),
        _column("partition", _INT),
        _column("offset", _BIG),
        _optional("key", _TEXT),
        _optional("run_uid", _TEXT),
        _optional("producer", _TEXT),
        _optional("producer_incarnation", _TEXT),
        _optional("seq", _BIG),
        _column("checksum_ok", _BOOL),
        _column("size", _INT),
        _column("timestamp", _BIG),
        _column("state", _TEXT),
    ]
)
"""One row a record the brokers hold after the drain. ``state`` is plain, committed, aborted or
open; ``size`` is the value's length in bytes; ``timestamp`` is the record's own, in µs."""

LOG_END_OFFSETS = pa.schema(
    [
        _column("topic", _TEXT),
        _column("partition", _INT),
        _column("taken_at", _BIG),
        _column("log_start", _BIG),
        _column("high_watermark", _BIG),
        _column("last_stable", _BIG),
        _column("leader", _INT),
        _column("leader_epoch", _INT),
        _column("isr", pa.list_(pa.field("element", _INT, nullable=False))),
        _column("settled", _BOOL),
        _column("read_from", _BIG),
        _column("read_to", _BIG),
        _column("rows_read", _BIG),
    ]
)
"""One row a partition: the bounds taken when the log had settled and what was read of it.
``read_to`` is exclusive; ``settled`` is false where the log did not become stable in time."""

REPLICA_LOG = pa.schema(
    [
        _column("broker", _INT),
        _column("topic", _TEXT),
        _column("partition", _INT),
        _column("offset", _BIG),
        _column("leader_epoch", _INT),
        _column("batch", _BIG),
        _column("batch_last", _BIG),
        _column("size", _INT),
        _column("crc", _BIG),
        _column("valid", _BOOL),
        _optional("control", _TEXT),
        _optional("run_uid", _TEXT),
        _optional("producer", _TEXT),
        _optional("producer_incarnation", _TEXT),
        _optional("seq", _BIG),
    ]
)
"""One row an offset that a broker's replica holds, transaction markers included, read from its
segments. Replicas hold the leader's batches byte by byte, so what is compared describes the
batch: ``batch`` and ``batch_last`` are its first and last offset, ``size`` its bytes, ``crc`` the
checksum it carries (which does not cover the leader epoch), ``valid`` whether that matches its
bytes. ``control`` is commit or abort of a transaction marker. The identity columns are null where
the payload is none of ours or is damaged."""

REPLICA_BOUNDS = pa.schema(
    [
        _column("broker", _INT),
        _column("topic", _TEXT),
        _column("partition", _INT),
        _column("taken_at", _BIG),
        _column("log_start", _BIG),
        _column("log_end", _BIG),
        _column("rows", _BIG),
        _optional("problem", _TEXT),
    ]
)
"""One row a replica whose segments were looked at. ``log_end`` is exclusive; ``rows`` are those
of ``replica_log``; ``problem`` says, where it is not null, why there may be more than they hold."""

TABLES: dict[str, pa.Schema] = {
    "produce": PRODUCE,
    "producer_summary": PRODUCER_SUMMARY,
    "consume": CONSUME,
    "consumer_events": CONSUMER_EVENTS,
    "log": LOG,
    "log_end_offsets": LOG_END_OFFSETS,
    "replica_log": REPLICA_LOG,
    "replica_bounds": REPLICA_BOUNDS,
}
"""Folder of the bundle → schema of its Parquet files."""

OPTIONAL = frozenset({"replica_log", "replica_bounds"})
"""Tables that only bundles of runs with evidence.compareReplicas have, and of no release before
it: they are empty where their folder is missing."""

ADDED: dict[str, frozenset[str]] = {
    "consume": frozenset({"transaction", "output_seq"}),
    "consumer_events": frozenset({"transaction"}),
}
"""Folder → columns that files of this schema version may lack, because they were added after the
first ones were written; they read as null."""
