"""duplicate-write: one record at two or more offsets of the settled log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.allowances.duplicates import write_rule
from krt_scoring.anomalies.schema import finding
from krt_scoring.history.delivery_places import RECORD
from krt_scoring.history.partition_bounds import start_of
from krt_scoring.history.positions import offset_of, tp_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context

NAME = "duplicate-write"


def possible(ctx: Context) -> bool:
    """Whether any record has more than one offset."""
    return ctx.history.records.totals["copied"] > 0


def _with_unread_places(ctx: Context) -> DataFrame:
    """Return the suspects with the first and last position that they have in a log not read.

    A delivery shows such a place. From a log that was read, it shows none: that log says itself
    what it holds.
    """
    ends = ("first", "last")
    deliveries, few = ctx.history.records.deliveries, ctx.history.records.few
    shown = {f"unread_{end}": sf.when(~sf.col("readable"), sf.col(f"got_{end}")) for end in ends}
    if deliveries is None:
        return ctx.suspects.withColumns(shown)
    tp = tp_of(sf.col("position"))
    unread = sf.when(sf.col("ok") & start_of(tp, ctx.history.facts).isNull(), sf.col("position"))
    looked_up = deliveries.groupBy(*RECORD).agg(
        sf.min(unread).alias("unread_first"), sf.max(unread).alias("unread_last")
    )
    found = ctx.suspects.join(few(looked_up.withColumn("looked_up", sf.lit(1))), RECORD, "left")
    return found.withColumns(
        {
            name: sf.when(sf.col("looked_up").isNotNull(), sf.col(name)).otherwise(value)
            for name, value in shown.items()
        }
    ).drop("looked_up")


def find(ctx: Context) -> DataFrame:
    """Return one finding a record that lies in the log more than once.

    Where the log was not read, one that was delivered from two offsets.
    """
    in_log = sf.col("log_rows") > 0
    first, last = (
        sf.when(in_log, sf.col(f"log_{end}")).otherwise(sf.col(f"unread_{end}"))
        for end in ("first", "last")
    )
    twice = _with_unread_places(ctx).filter(first != last)
    detail = sf.to_json(
        sf.struct(
            sf.col("log_rows").alias("copies"),
            offset_of(first).alias("first"),
            offset_of(last).alias("last"),
        )
    )
    return finding(NAME, write_rule(ctx.history, twice), detail=detail)
