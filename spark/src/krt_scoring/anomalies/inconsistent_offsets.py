"""inconsistent-offsets: one offset, two values, between acks, deliveries and log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from krt_scoring.allowances.losses import place_rule
from krt_scoring.anomalies.schema import finding
from krt_scoring.history.base import located
from krt_scoring.history.facts import key, ours
from krt_scoring.history.union import together

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.history.base import Base

NAME = "inconsistent-offsets"


def possible(base: Base) -> bool:
    """Whether any record was reported at an offset where it does not lie."""
    return base.totals["misplaced"] > 0


def find(base: Base) -> DataFrame:
    """Return one finding an offset.

    Two values at an offset mean that at least one record was told a place where it does not
    lie; only those places are looked at, together with what the log holds there. Permitted
    where the loss of every value but the log's is, at that place.
    """
    told = [
        _claims(base.suspects, "ack_place", delivered=False),
        _claims(base.suspects, "got_first", delivered=True),
        _claims(base.suspects, "got_last", delivered=True),
    ]
    claims = together(told)
    places = claims.select("place").distinct()
    mine = ours(base.history.run)
    held = (
        base.history.log.select(
            base.facts.places.column().alias("place"),
            sf.when(mine, key()).otherwise(sf.lit(0)).alias("pk"),
            sf.when(mine, sf.col("seq")).otherwise(sf.lit(-1)).alias("seq"),
        )
        .join(base.few(places), "place", "left_semi")
        .select("place", "pk", "seq", sf.lit(col=True).alias("held"), sf.lit("").alias("rule"))
    )
    values = (
        claims.unionAll(held)
        .groupBy("place")
        .agg(
            ((sf.min("pk") != sf.max("pk")) | (sf.min("seq") != sf.max("seq"))).alias("differ"),
            sf.max(sf.col("rule").isNull()).alias("accused"),
            sf.max("rule").alias("rule"),
            sf.max("held").cast("int").alias("inLog"),
        )
    )
    conflicts = located(values.filter("differ"), base.facts)
    rule: Column = sf.when(~sf.col("accused"), sf.col("rule"))
    return finding(NAME, conflicts, rule=rule, detail=sf.to_json(sf.struct("inLog")))


def _claims(suspects: DataFrame, column: str, *, delivered: bool) -> DataFrame:
    place = sf.col(column)
    absent = sf.col("log_first").isNull()
    elsewhere = (place != sf.col("log_first")) & (place != sf.col("log_last"))
    # Of three copies the middle one is neither first nor last: a claim it supports is none.
    claimed = suspects.filter(place.isNotNull() & (absent | elsewhere))
    return claimed.select(
        place.alias("place"),
        "pk",
        "seq",
        sf.lit(col=False).alias("held"),
        place_rule(place, delivered=delivered).alias("rule"),
    )
