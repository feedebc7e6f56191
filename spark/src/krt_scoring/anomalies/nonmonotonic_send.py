"""nonmonotonic-send, int-nonmonotonic-send: adjacent sends that lie in the log the other way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.allowances.duplicates import RETRIES
from krt_scoring.anomalies.schema import finding
from krt_scoring.history.neighbours import with_previous
from krt_scoring.history.positions import offset_of, tp_of
from krt_scoring.history.records import with_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context

NAME = "nonmonotonic-send"
INSIDE = "int-nonmonotonic-send"


def possible(_: Context) -> bool:
    """Always: only the query itself can tell."""
    return True


def find(ctx: Context) -> DataFrame:
    """Return one finding an inversion; both anomalies, distinguished by the transaction."""
    rows = ctx.history.records.rows.filter(sf.col("position").isNotNull()).select(
        *("pk", "bucket", "seq", tp_of(sf.col("position")).alias("tp"), "position"),
        "transaction",
    )
    columns = ("position", "seq", "transaction")
    inverted = sf.col("position") < sf.col("prev_position")
    found = with_names(
        with_previous(rows, ("pk", "tp"), "seq", columns, inverted),
        ctx.history.records.names,
        ctx.history.facts,
    )
    inside = sf.col("transaction") == sf.col("prev_transaction")
    permitted = ~sf.col("idempotent") & sf.col("retries") & (sf.col("in_flight") > 1)
    detail = sf.to_json(
        sf.struct(
            sf.col("prev_seq").alias("previousSeq"),
            offset_of(sf.col("prev_position")).alias("previousOffset"),
        )
    )
    name = sf.when(inside, INSIDE).otherwise(NAME)
    return finding(name, found, rule=sf.when(permitted, RETRIES), detail=detail)
