"""One row a record: what its producer was told, where it lies in the log, who got it.

Ledger, log and deliveries are put one under the other and grouped by identity: one shuffle and
one aggregation over longs, where three-way joins would take three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from krt_contract.outcomes import DeliveryOutcome, LogState, SendOutcome, TransactionOutcome
from krt_scoring.engine import local_rows
from krt_scoring.engine.session import partitions
from krt_scoring.history.facts import MAX_GROUPS, key, ours
from krt_scoring.history.positions import tp_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.facts import Facts, Group
    from krt_scoring.history.tables import History

ACKED, FAILED, UNKNOWN = 1, 2, 3
OUTCOME_CODES: dict[str, int] = {
    SendOutcome.ACKED: ACKED,
    SendOutcome.FAILED: FAILED,
    SendOutcome.UNKNOWN: UNKNOWN,
}
COMMITTED, ABORTED, UNDECIDED = 1, 2, 3
TRANSACTION_CODES: dict[str, int] = {
    TransactionOutcome.COMMITTED: COMMITTED,
    TransactionOutcome.ABORTED: ABORTED,
    TransactionOutcome.UNKNOWN: UNDECIDED,
}

IN_LOG, LOG_COMMITTED, LOG_ABORTED, LOG_OPEN = 1, 2, 4, 8
STATE_BITS: dict[str, int] = {
    LogState.PLAIN: IN_LOG,
    LogState.COMMITTED: LOG_COMMITTED,
    LogState.ABORTED: LOG_ABORTED,
    LogState.OPEN: LOG_OPEN,
}
BAD_IN_LOG, BAD_DELIVERED, UNDONE_ACK = 16, 32, 64
"""Bits of a record's ``bits``: the states it has in the log, damaged bytes seen, and that it failed
because its transaction was aborted, though the broker had acked it."""

PRESENT = IN_LOG | LOG_COMMITTED | LOG_OPEN
"""States in which a record is in the log; one lying there as aborted counts as absent."""

SEQ_BUCKET_BITS = 12
"""Records are spread by (incarnation, seq / 4096): even work, and neighbours stay together for
the rules about order of sends."""


UNDONE, HANDED = 1, 2
"""Values of the column ``tried``."""


def delivered(group: Group) -> str:
    """Return the column that counts a record's ok deliveries to a group."""
    return f"d_{group.index}"


def handed(group: Group) -> str:
    """Return the column with the time of a record's first ok delivery to a group."""
    return f"h_{group.index}"


def first_handed(facts: Facts) -> Column:
    """Return when any group was first given a record, null where none was."""
    times = [sf.col(handed(group)) for group in facts.groups]
    return sf.array_min(sf.array(*times)) if times else sf.lit(None).cast("long")


def tried(group: Group) -> str:
    """Return the column that says whether any delivery, ok or not, reached the group.

    0: none did; UNDONE: only such as the abort of their transaction took back; HANDED: else.
    """
    return f"a_{group.index}"


def owed(group: Group) -> str:
    """Return the column that says whether the group is owed the record."""
    return f"owed_{group.index}"


def has(bits: int) -> Column:
    """Whether a record has any of the bits."""
    return sf.col("bits").bitwiseAND(sf.lit(bits)) != 0


def build(history: History, facts: Facts) -> DataFrame:
    """Return the records of a run, which ``derive.fates`` completes.

    Columns: ``pk, seq`` identity; ``rows`` ledger rows; ``outcome, tp, ack_place,
    scheduled_at, sent_at, done_at, transaction, transaction_outcome`` as its ledger says;
    ``drift`` by which its two clocks differ, µs; ``log_rows, log_first,
    log_last`` places in the log; ``got_rows`` deliveries, ok or not; ``got_first, got_last``
    places of the ok ones; ``bits``;
    per group ``d_i, h_i, a_i`` and, of its partition, ``start_i, reach_i``; of the partition
    ``log_start, high_watermark, readable``; ``place`` where it lies or should lie; ``bucket`` of
    its seq.
    """
    rows = _ledger(history, facts).unionAll(_log(history, facts)).unionAll(_got(history, facts))
    bucket = sf.shiftright("seq", SEQ_BUCKET_BITS)
    grouped = (
        rows.repartition(partitions(rows.sparkSession), sf.col("pk"), bucket)
        .withColumn("bucket", bucket)
        .groupBy("pk", "bucket", "seq")
        .agg(*_aggregates(facts))
    )
    placed = (
        _unpacked(grouped, facts)
        .withColumn("place", sf.coalesce("log_first", "ack_place", "got_first"))
        .withColumn("tp", sf.coalesce(tp_of(sf.col("place")), sf.col("ledger_tp")))
    )
    return placed.join(sf.broadcast(_partitions(history, facts)), "tp", "left")


_LEDGER, _LOG, _GOT = 0, 1, 2
"""Which table a row is of; a delivery to the group ``i`` is ``_GOT + i``."""

_OUTCOME, _DECIDED, _TRIED = 8, 12, 16
_KIND = _TRIED + 2 * MAX_GROUPS
"""From which bit of a row on stand, a bit for each code, its outcome, its transaction's outcome
and, for each group, what was tried; and, as a number, which table it is of."""

_OWN = (1 << 7) - 1
"""The bits that a record keeps."""

_CODES = (3, 2, 1)
"""What ``OUTCOME_CODES`` and ``TRANSACTION_CODES`` count to, the one that decides first."""


def _select(table: DataFrame, kind: Column, bits: Column, **columns: Column) -> DataFrame:
    """Return a table's rows as they are put under those of the others.

    What the tables tell stands in as few columns as they can share, and whatever is told by a few
    bits in one: all of it is written, moved and read once for each row.
    """
    long = sf.lit(None).cast("long")
    names = ("place", "at", "scheduled_at", "sent_at", "drift", "transaction")
    return table.select(
        key().alias("pk"),
        "seq",
        sf.shiftleft(kind.cast("long"), _KIND).bitwiseOR(bits).alias("bits"),
        *[columns.get(name, long).alias(name) for name in names],
    )


def _number(column: str, numbers: dict[str, int]) -> Column:
    """Return the number that stands for a text column's value; 0 for a text that has none."""
    found: Column = sf.lit(0).cast("long")
    for text, number in numbers.items():
        found = sf.when(sf.col(column) == text, sf.lit(number).cast("long")).otherwise(found)
    return found


def _bit(column: str, codes: dict[str, int], shift: int) -> Column:
    """Return a bit for the code of a text column; none for a text that has none."""
    return _number(column, {text: 1 << (shift + number) for text, number in codes.items()})


def _ledger(history: History, facts: Facts) -> DataFrame:
    undone_ack = sf.when(
        (sf.col("transaction_outcome") == TransactionOutcome.ABORTED) & sf.col("error").isNull(),
        UNDONE_ACK,
    ).otherwise(0)
    acked = sf.when(sf.col("outcome") == SendOutcome.ACKED, facts.places.column())
    return _select(
        history.produce,
        sf.lit(_LEDGER),
        undone_ack.cast("long")
        .bitwiseOR(_bit("outcome", OUTCOME_CODES, _OUTCOME))
        .bitwiseOR(_bit("transaction_outcome", TRANSACTION_CODES, _DECIDED)),
        # Below zero: the partition alone.
        place=sf.coalesce(acked, -facts.places.tp_column() - 1),
        at=sf.col("done_at"),
        scheduled_at=sf.col("scheduled_at"),
        sent_at=sf.col("sent_at"),
        drift=sf.abs(sf.expr("(done_at - sent_at) - (done_mono - sent_mono)")),
        transaction=sf.col("transaction"),
    )


def _log(history: History, facts: Facts) -> DataFrame:
    damage = sf.when(sf.col("checksum_ok"), 0).otherwise(BAD_IN_LOG)
    return _select(
        history.log.filter(ours(history.run)),
        sf.lit(_LOG),
        _number("state", STATE_BITS).bitwiseOR(damage.cast("long")),
        place=facts.places.column(),
    )


def _got(history: History, facts: Facts) -> DataFrame:
    ok = sf.col("outcome") == DeliveryOutcome.OK
    damage = sf.when(ok & ~sf.col("checksum_ok"), BAD_DELIVERED).otherwise(0)

    def given(way: int) -> Column:
        shifts = {group.name: _TRIED + 2 * group.index for group in facts.groups}
        return _number("group", {name: way << shift for name, shift in shifts.items()})

    bits = sf.when(undone(facts), given(UNDONE)).otherwise(given(HANDED))
    return _select(
        history.consume.filter(ours(history.run)),
        sf.lit(_GOT) + sf.coalesce(facts.group_index(), sf.lit(MAX_GROUPS)),
        bits.bitwiseOR(damage.cast("long")),
        place=sf.when(ok, facts.places.column()),
        at=sf.when(ok, sf.col("delivered_at")),
    )


def undone(facts: Facts) -> Column:
    """Whether a delivery was taken back by the abort of the transaction it was handed out in."""
    if not facts.transactional:
        return sf.lit(col=False)
    aborted = sf.col("outcome") == DeliveryOutcome.FAILED
    return aborted & sf.coalesce(facts.group_index().isin(*facts.transactional), sf.lit(col=False))


def _aggregates(facts: Facts) -> list[Column]:
    kind = sf.shiftright("bits", _KIND)
    ledger, log, got = kind == _LEDGER, kind == _LOG, kind >= _GOT

    def rows(of: Column) -> Column:
        return sf.count(sf.when(of, 1)).cast("int")

    columns = [
        rows(ledger).alias("rows"),
        sf.max(sf.when(ledger, sf.col("place"))).alias("told"),
        sf.max("scheduled_at").alias("scheduled_at"),
        sf.max("sent_at").alias("sent_at"),
        sf.max(sf.when(ledger, sf.col("at"))).alias("done_at"),
        sf.max("drift").alias("drift"),
        sf.max("transaction").alias("transaction"),
        rows(log).alias("log_rows"),
        sf.min(sf.when(log, sf.col("place"))).alias("log_first"),
        sf.max(sf.when(log, sf.col("place"))).alias("log_last"),
        rows(got).alias("got_rows"),
        sf.min(sf.when(got, sf.col("place"))).alias("got_first"),
        sf.max(sf.when(got, sf.col("place"))).alias("got_last"),
        sf.bit_or("bits").alias("bits"),
    ]
    for group in facts.groups:
        its = kind == _GOT + group.index
        # Only of an ok delivery it is told when it was handed out.
        columns += [
            sf.count(sf.when(its, sf.col("at"))).cast("int").alias(delivered(group)),
            sf.min(sf.when(its, sf.col("at"))).alias(handed(group)),
        ]
    return columns


def _unpacked(rows: DataFrame, facts: Facts) -> DataFrame:
    """Return the aggregated rows with a column for each thing that stood in one of theirs."""

    def highest(shift: int) -> Column:
        found: Column = sf.lit(None).cast("int")
        for number in reversed(_CODES):
            found = sf.when(has(1 << (shift + number)), number).otherwise(found)
        return found

    tried_of = {
        tried(group): sf.shiftright("bits", _TRIED + 2 * group.index).bitwiseAND(sf.lit(3))
        for group in facts.groups
    }
    told = sf.col("told")
    return rows.select(
        *[name for name in rows.columns if name not in {"bits", "told"}],
        highest(_OUTCOME).alias("outcome"),
        highest(_DECIDED).alias("transaction_outcome"),
        sf.when(told >= 0, told).alias("ack_place"),
        sf.when(told >= 0, tp_of(told)).otherwise(-told - 1).alias("ledger_tp"),
        sf.col("bits").bitwiseAND(sf.lit(_OWN)).cast("int").alias("bits"),
        *[
            sf.when(both == UNDONE, UNDONE).when(both == 0, 0).otherwise(HANDED).alias(name)
            for name, both in tried_of.items()
        ],
    )


def _partitions(history: History, facts: Facts) -> DataFrame:
    """One row a partition: its bounds, where each group starts and, if unread, how far it got."""
    starts = [
        StructField(f"{name}_{group.index}", LongType())
        for group in facts.groups
        for name in ("start", "reach")
    ]
    schema = StructType(
        [
            StructField("tp", LongType()),
            StructField("log_start", LongType()),
            StructField("high_watermark", LongType()),
            StructField("readable", IntegerType()),
            *starts,
        ]
    )
    known = set(facts.bounds) | {tp for _, tp in facts.starts} | {tp for _, tp in facts.reached}
    rows = []
    for tp in sorted(known):
        bounds = facts.bounds.get(tp)
        spans: list[int | None] = []
        for group in facts.groups:
            start = facts.starts.get((group.index, tp))
            spans += [start.offset if start else None, facts.reached.get((group.index, tp))]
        rows.append(
            (
                tp,
                bounds.log_start if bounds else None,
                bounds.high_watermark if bounds else None,
                1 if bounds else 0,
                *spans,
            )
        )
    return local_rows.frame(history.produce.sparkSession, rows, schema)
