"""The records as they are held: few columns of the clean ones, all of them of the others.

Of a clean record ledger, log and deliveries agree, so that one place, its fate and its times say
all that rules and measurements ask of it. What is not clean is rare and keeps every column of
``derive.records`` and ``derive.fates``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.history.records import handed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.history.facts import Facts

MANY = 127
"""Rows of one record beyond this many are held as this many: one byte."""

LONG_DRIFT = (1 << 31) - 1
"""Drifts of clocks beyond 35 minutes are held as 35 minutes."""


def pack(records: DataFrame, facts: Facts) -> DataFrame:
    """Return the records of ``derive.fates`` as they are held.

    Columns: ``pk, bucket, seq, tp, scheduled_at, sent_at, done_at, drift, transaction`` and per
    group ``h_i`` as there; ``outcome`` code, null where no ledger tells of the record; ``bits``;
    ``place`` where the log, or deliveries and acks where it was not read, say that it lies;
    ``held`` whether it lies once and where its ack said; ``once`` whether the log lists it once;
    ``got_rows`` deliveries; ``fate`` index; ``odd`` 1 where it is not clean, and then ``whole``,
    every column.
    """
    told = sf.when(~sf.col("readable"), sf.coalesce("got_first", "ack_place"))
    held = (sf.col("log_first") == sf.col("ack_place")) & (
        sf.col("log_last") == sf.col("ack_place")
    )
    return records.select(
        *("pk", "bucket", "seq", sf.col("tp").cast("int").alias("tp")),
        *("scheduled_at", "sent_at", "done_at", "transaction"),
        sf.least("drift", sf.lit(LONG_DRIFT)).cast("int").alias("drift"),
        *[handed(group) for group in facts.groups],
        sf.col("outcome").cast("tinyint").alias("outcome"),
        sf.col("bits").cast("tinyint").alias("bits"),
        sf.coalesce("log_first", told).alias("place"),
        sf.coalesce(held, sf.lit(col=False)).alias("held"),
        (sf.col("log_rows") == 1).alias("once"),
        sf.least("got_rows", sf.lit(MANY)).cast("tinyint").alias("got_rows"),
        sf.col("fate").cast("tinyint").alias("fate"),
        # A number, not a truth: batches of the cache are left out by their least and greatest.
        sf.when(sf.col("clean"), 0).otherwise(1).alias("odd"),
        sf.when(~sf.col("clean"), sf.struct(*records.columns)).alias("whole"),
    )


def odd(packed: DataFrame) -> DataFrame:
    """Return the records that are not clean, with every column of ``derive.fates``."""
    return packed.filter("odd = 1").select("whole.*")
