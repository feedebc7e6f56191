"""corrupt-payload: checksum or identity differs from what was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.anomalies.schema import finding
from krt_scoring.history.partition_bounds import settled, start_of
from krt_scoring.history.positions import offset_of, tp_of
from krt_scoring.history.record_columns import BAD_DELIVERED, BAD_IN_LOG, has

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.anomalies.context import Context

NAME = "corrupt-payload"


def possible(ctx: Context) -> bool:
    """Whether any record has damaged bytes or an unknown identity."""
    return ctx.history.records.totals["corrupt"] + ctx.history.records.totals["strange"] > 0


def find(ctx: Context) -> DataFrame:
    """Return one finding a record: damaged bytes, a seq that was never sent, another partition."""
    damaged = has(BAD_IN_LOG | BAD_DELIVERED)
    seen = (sf.col("log_rows") > 0) | sf.col("got_first").isNotNull()
    facts = ctx.history.facts
    never = facts.never_sent() & seen
    elsewhere: Column = sf.lit(col=False)
    # Of copies in several partitions, the first or the last is not where it was sent to.
    for end in ("first", "last"):
        # A delivery shows where a record lies unless a settled log says that it does not lie there.
        got = sf.col(f"got_{end}")
        decisive = (offset_of(got) >= start_of(tp_of(got), facts)) & settled(tp_of(got), facts)
        shown = sf.when(~sf.col("present") | ~decisive, got)
        lies = tp_of(sf.coalesce(sf.col(f"log_{end}"), shown))
        elsewhere = elsewhere | (sf.col("ledger_tp") != lies)
    tag = sf.when(damaged, "checksum").when(never, "neverSent").when(elsewhere, "otherPartition")
    return finding(NAME, ctx.suspects.withColumn("tag", tag).filter(sf.col("tag").isNotNull()))
