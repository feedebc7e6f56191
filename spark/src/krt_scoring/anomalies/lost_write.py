"""lost-write: acked, or unknown but verified, and absent from the settled log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.allowances.losses import write_rule
from krt_scoring.anomalies.schema import finding
from krt_scoring.history.record_columns import (
    ACKED,
    LOG_ABORTED,
    LOG_COMMITTED,
    UNKNOWN,
    delivered_at,
    has,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context

NAME = "lost-write"

BASIS_DELIVERIES = "basisDeliveries"
"""Sub-count of those found by deliveries alone, where the log of the partition was not read."""


def possible(ctx: Context) -> bool:
    """Whether any record is missing from the log."""
    return ctx.history.records.totals["missing"] > 0


def find(ctx: Context) -> DataFrame:
    """Return one finding a lost record.

    An unknown send is verified by its own delivery, an unknown transaction by a read_committed
    delivery or a committed log record of any of its sends: then all of them were written. What
    has a number that was never sent is corrupt-payload's to tell, no send that was lost. Of a
    send that no ledger tells of, the log alone says that it was in a transaction. Where a
    partition's log was not read, what a group read past and none was given is lost: the basis
    is then deliveries alone.
    """
    missing = ctx.suspects.filter(
        ~sf.col("present") & ~sf.col("below_start") & ~ctx.history.facts.never_sent()
    )
    verified = sf.col("outcome") == ACKED
    unknown = sf.coalesce(sf.col("outcome"), sf.lit(UNKNOWN)) == UNKNOWN
    outside = sf.col("transaction").isNull() & ~has(LOG_ABORTED)
    alone = unknown & outside & sf.col("got_first").isNotNull()
    if ctx.history.facts.run.transactional:
        missing = missing.join(_decided(ctx, missing), ["pk", "transaction"], "left")
        verified = verified | (unknown & sf.col("decided"))
    lost = missing.filter(verified | alone)
    detail = sf.to_json(
        sf.struct(
            "acks",
            sf.col("got_first").isNotNull().cast("int").alias("delivered"),
            sf.col("done_at").alias("doneAt"),
            sf.when(sf.col("passed_over"), "deliveries").alias("basis"),
        )
    )
    tag = sf.when(sf.col("passed_over"), BASIS_DELIVERIES).when(
        sf.col("got_first").isNotNull(), "afterDelivery"
    )
    return finding(NAME, lost, rule=write_rule(), tag=tag, detail=detail)


def _decided(ctx: Context, missing: DataFrame) -> DataFrame:
    """Return which transactions of missing records were certainly committed, one row each."""
    asked = ctx.history.records.few(missing.select("pk", "transaction").distinct())
    seen = has(LOG_COMMITTED)
    for group in ctx.history.facts.groups:
        if group.committed_only:
            seen = seen | sf.col(delivered_at(group)).isNotNull()
    return (
        ctx.history.records.rows.filter(seen)
        .select("pk", "transaction")
        .join(asked, ["pk", "transaction"], "left_semi")
        .distinct()
        .withColumn("decided", sf.lit(col=True))
    )
