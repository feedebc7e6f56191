"""duplicate-write: one record at two or more offsets of the settled log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.allowances.duplicates import write_rule
from krt_scoring.anomalies.schema import finding
from krt_scoring.history.positions import offset_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context

NAME = "duplicate-write"


def possible(ctx: Context) -> bool:
    """Whether any record has more than one offset."""
    return ctx.history.records.totals["copied"] > 0


def find(ctx: Context) -> DataFrame:
    """Return one finding a record that lies in the log more than once.

    Where the log was not read, one that was delivered from two offsets.
    """
    first, last = (
        sf.when(sf.col("readable"), sf.col(f"log_{end}")).otherwise(sf.col(f"got_{end}"))
        for end in ("first", "last")
    )
    twice = ctx.suspects.filter(first != last)
    detail = sf.to_json(
        sf.struct(
            sf.col("log_rows").alias("copies"),
            offset_of(first).alias("first"),
            offset_of(last).alias("last"),
        )
    )
    return finding(NAME, write_rule(ctx.history, twice), detail=detail)
