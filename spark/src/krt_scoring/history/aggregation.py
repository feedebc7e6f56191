"""One row a record: what its producer recorded, where it lies in the log, who received it.

Ledger, log and deliveries are combined in one table and grouped by identity: one shuffle and
one aggregation over longs, where three-way joins would take three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from krt_contract.outcomes import DeliveryOutcome, SendOutcome, TransactionOutcome
from krt_scoring.engine import local_rows
from krt_scoring.engine.session import partitions
from krt_scoring.history import acked_offsets
from krt_scoring.history.groups import MAX_GROUPS
from krt_scoring.history.identity import key, ours
from krt_scoring.history.positions import tp_of
from krt_scoring.history.record_columns import (
    BAD_DELIVERED,
    BAD_IN_LOG,
    OUTCOME_CODES,
    REACHED,
    STATE_BITS,
    TAKEN_BACK,
    TRANSACTION_CODES,
    UNDONE_ACK,
    delivered_at,
    delivery_count,
    delivery_state,
    has,
    taken_back,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import Tables

SEQ_BUCKET_BITS = 12
"""Records are spread by (incarnation, seq / 4096): even work, and neighbours stay together for
the rules about order of sends."""


def build(tables: Tables, facts: Facts) -> DataFrame:
    """Return the records of a run, which ``outcomes.judge`` completes.

    Columns: ``pk, seq`` identity; ``rows`` ledger rows; ``outcome, tp, ack_position,
    scheduled_at, sent_at, done_at, transaction, transaction_outcome`` as its ledger says, the
    position null where ``offset_unusable``;
    ``drift`` by which its two clocks differ, µs; ``log_rows, log_first,
    log_last`` positions in the log; ``got_rows`` deliveries, ok or not; ``got_first, got_last``
    positions of the ok ones; ``bits``;
    per group ``d_i, h_i, a_i`` and, of its partition, ``start_i, reach_i``; of the partition
    ``log_start, high_watermark, readable``; ``position`` where it lies or should lie; ``bucket`` of
    its seq.
    """
    rows = _ledger(tables, facts).unionAll(_log(tables, facts)).unionAll(_deliveries(tables, facts))
    bucket = sf.shiftright("seq", SEQ_BUCKET_BITS)
    grouped = (
        rows.repartition(partitions(rows.sparkSession), sf.col("pk"), bucket)
        .withColumn("bucket", bucket)
        .groupBy("pk", "bucket", "seq")
        .agg(*_aggregates(facts))
    )
    positioned = (
        _unpacked(grouped, tables, facts)
        .withColumn("position", sf.coalesce("log_first", "ack_position", "got_first"))
        .withColumn("tp", sf.coalesce(tp_of(sf.col("position")), sf.col("ledger_tp")))
    )
    return positioned.join(sf.broadcast(_partitions(tables, facts)), "tp", "left")


_LEDGER, _LOG, _DELIVERED = 0, 1, 2
"""Which table a row is of; a delivery to the group ``i`` is ``_DELIVERED + i``."""

_OUTCOME, _DECIDED, _DELIVERY = 8, 12, 16
_KIND = _DELIVERY + 2 * MAX_GROUPS
"""From which bit on a row has, a bit for each code, its outcome, its transaction's outcome
and, for each group, its deliveries; and, as a number, which table it is of."""

_OWN = (1 << 7) - 1
"""The bits that a record keeps."""

_CODES = (3, 2, 1)
"""The codes of ``OUTCOME_CODES`` and ``TRANSACTION_CODES``, the one that decides first."""


def _select(table: DataFrame, kind: Column, bits: Column, **columns: Column) -> DataFrame:
    """Return a table's rows with the columns that all tables share.

    There are as few columns as the tables can share, and what needs a few bits only is in one
    column: each column is written, moved and read once for each row.
    """
    long = sf.lit(None).cast("long")
    names = ("position", "at", "scheduled_at", "sent_at", "drift", "transaction")
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


def _ledger(tables: Tables, facts: Facts) -> DataFrame:
    undone_ack = sf.when(
        (sf.col("transaction_outcome") == TransactionOutcome.ABORTED.value)
        & sf.col("error").isNull(),
        UNDONE_ACK,
    ).otherwise(0)
    acked = sf.when(sf.col("outcome") == SendOutcome.ACKED.value, facts.positions.column())
    return _select(
        tables.produce,
        sf.lit(_LEDGER),
        undone_ack.cast("long")
        .bitwiseOR(_bit("outcome", OUTCOME_CODES, _OUTCOME))
        .bitwiseOR(_bit("transaction_outcome", TRANSACTION_CODES, _DECIDED)),
        # Below zero: the partition alone.
        position=sf.coalesce(acked, -facts.positions.tp_column() - 1),
        at=sf.col("done_at"),
        scheduled_at=sf.col("scheduled_at"),
        sent_at=sf.col("sent_at"),
        drift=sf.abs(sf.expr("(done_at - sent_at) - (done_mono - sent_mono)")),
        transaction=sf.col("transaction"),
    )


def _log(tables: Tables, facts: Facts) -> DataFrame:
    damage = sf.when(sf.col("checksum_ok"), 0).otherwise(BAD_IN_LOG)
    return _select(
        tables.log.filter(ours(tables.run)),
        sf.lit(_LOG),
        _number("state", STATE_BITS).bitwiseOR(damage.cast("long")),
        position=facts.positions.column(),
    )


def _deliveries(tables: Tables, facts: Facts) -> DataFrame:
    ok = sf.col("outcome") == DeliveryOutcome.OK.value
    damage = sf.when(ok & ~sf.col("checksum_ok"), BAD_DELIVERED).otherwise(0)

    def given(way: int) -> Column:
        shifts = {group.name: _DELIVERY + 2 * group.index for group in facts.groups}
        return _number("group", {name: way << shift for name, shift in shifts.items()})

    bits = sf.when(taken_back(facts), given(TAKEN_BACK)).otherwise(given(REACHED))
    return _select(
        tables.consume.filter(ours(tables.run)),
        sf.lit(_DELIVERED) + sf.coalesce(facts.group_index(), sf.lit(MAX_GROUPS)),
        bits.bitwiseOR(damage.cast("long")),
        position=sf.when(ok, facts.positions.column()),
        at=sf.when(ok, sf.col("delivered_at")),
    )


def _aggregates(facts: Facts) -> list[Column]:
    kind = sf.shiftright("bits", _KIND)
    ledger, log, got = kind == _LEDGER, kind == _LOG, kind >= _DELIVERED

    def rows(of: Column) -> Column:
        return sf.count(sf.when(of, 1)).cast("int")

    columns = [
        rows(ledger).alias("rows"),
        sf.max(sf.when(ledger, sf.col("position"))).alias("ledger_position"),
        sf.max("scheduled_at").alias("scheduled_at"),
        sf.max("sent_at").alias("sent_at"),
        sf.max(sf.when(ledger, sf.col("at"))).alias("done_at"),
        sf.max("drift").alias("drift"),
        sf.max("transaction").alias("transaction"),
        rows(log).alias("log_rows"),
        sf.min(sf.when(log, sf.col("position"))).alias("log_first"),
        sf.max(sf.when(log, sf.col("position"))).alias("log_last"),
        rows(got).alias("got_rows"),
        sf.min(sf.when(got, sf.col("position"))).alias("got_first"),
        sf.max(sf.when(got, sf.col("position"))).alias("got_last"),
        sf.bit_or("bits").alias("bits"),
    ]
    for group in facts.groups:
        its = kind == _DELIVERED + group.index
        # Only an ok delivery has a time.
        columns += [
            sf.count(sf.when(its, sf.col("at"))).cast("int").alias(delivery_count(group)),
            sf.min(sf.when(its, sf.col("at"))).alias(delivered_at(group)),
        ]
    return columns


def _unpacked(rows: DataFrame, tables: Tables, facts: Facts) -> DataFrame:
    """Return the aggregated rows with a column for each value that shared one."""

    def highest(shift: int) -> Column:
        found: Column = sf.lit(None).cast("int")
        for number in reversed(_CODES):
            found = sf.when(has(1 << (shift + number)), number).otherwise(found)
        return found

    states = {
        delivery_state(group): sf.shiftright("bits", _DELIVERY + 2 * group.index).bitwiseAND(
            sf.lit(3)
        )
        for group in facts.groups
    }
    ledger = sf.col("ledger_position")
    acked = sf.when(ledger >= 0, ledger)
    unusable = acked_offsets.unusable(acked, tables, facts)
    return rows.select(
        *[name for name in rows.columns if name not in {"bits", "ledger_position"}],
        highest(_OUTCOME).alias("outcome"),
        highest(_DECIDED).alias("transaction_outcome"),
        unusable.alias("offset_unusable"),
        sf.when(~unusable, acked).alias("ack_position"),
        sf.when(ledger >= 0, tp_of(ledger)).otherwise(-ledger - 1).alias("ledger_tp"),
        sf.col("bits").bitwiseAND(sf.lit(_OWN)).cast("int").alias("bits"),
        *[
            sf.when(both == TAKEN_BACK, TAKEN_BACK)
            .when(both == 0, 0)
            .otherwise(REACHED)
            .alias(name)
            for name, both in states.items()
        ],
    )


def _partitions(tables: Tables, facts: Facts) -> DataFrame:
    """One row a partition: bounds, where each group starts and, if unread, how far it got."""
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
    return local_rows.frame(tables.produce.sparkSession, rows, schema)
