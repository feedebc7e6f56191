"""The records as they are cached: few columns of the clean ones, every column of the others.

Of a clean record ledger, log and deliveries agree, so that one position, its outcome and its times
are all that rules and metrics need. Records that are not clean are rare and keep every column of
``aggregation`` and ``outcomes``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.history.record_columns import delivered_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.history.facts import Facts

ANOMALOUS, ELSEWHERE = 1, 2
"""Values of the column ``anomalous`` beside 0."""

MANY = 127
"""Rows of one record beyond this many are stored as this many: one byte."""

LONG_DRIFT = (1 << 31) - 1
"""Drifts of clocks beyond 35 minutes are stored as 35 minutes."""


def pack(records: DataFrame, facts: Facts) -> DataFrame:
    """Return the records of ``outcomes.judge`` as they are cached.

    Columns: ``pk, bucket, seq, tp, scheduled_at, sent_at, done_at, drift, transaction`` and per
    group ``h_i`` as there; ``outcome`` code, null where no ledger has the record; ``bits``;
    ``position`` where the log, or deliveries and acks where it was not read, say that it lies;
    ``as_acked`` whether it lies once and at the position of its ack; ``once`` whether the log lists
    it once; ``got_rows`` deliveries; ``record_outcome`` index; ``anomalous``: 0 where it is clean,
    else ANOMALOUS, or ELSEWHERE where it may have been delivered from where the log does not hold
    it; of such records ``every``, all columns.
    """
    unread = sf.when(~sf.col("readable"), sf.coalesce("got_first", "ack_position"))
    as_acked = (sf.col("log_first") == sf.col("ack_position")) & (
        sf.col("log_last") == sf.col("ack_position")
    )
    return records.select(
        *("pk", "bucket", "seq", sf.col("tp").cast("int").alias("tp")),
        *("scheduled_at", "sent_at", "done_at", "transaction"),
        sf.least("drift", sf.lit(LONG_DRIFT)).cast("int").alias("drift"),
        *[delivered_at(group) for group in facts.groups],
        sf.col("outcome").cast("tinyint").alias("outcome"),
        sf.col("bits").cast("tinyint").alias("bits"),
        sf.coalesce("log_first", unread).alias("position"),
        sf.coalesce(as_acked, sf.lit(col=False)).alias("as_acked"),
        (sf.col("log_rows") == 1).alias("once"),
        sf.least("got_rows", sf.lit(MANY)).cast("tinyint").alias("got_rows"),
        sf.col("record_outcome").cast("tinyint").alias("record_outcome"),
        # A number, not a boolean: Spark skips batches of the cache by minimum and maximum.
        sf.when(sf.col("clean"), 0)
        .when(sf.col("elsewhere"), ELSEWHERE)
        .otherwise(ANOMALOUS)
        .alias("anomalous"),
        sf.when(~sf.col("clean"), sf.struct(*records.columns)).alias("every"),
    )


def anomalous(packed: DataFrame) -> DataFrame:
    """Return the records that are not clean, with every column."""
    return packed.filter(sf.col("anomalous") >= ANOMALOUS).select("every.*")


def elsewhere(packed: DataFrame) -> DataFrame:
    """Return, with every column, the records whose deliveries have to be looked up."""
    return packed.filter(sf.col("anomalous") == ELSEWHERE).select("every.*")


def in_place(packed: DataFrame) -> DataFrame:
    """Return the other records, packed."""
    return packed.filter(sf.col("anomalous") < ELSEWHERE)
