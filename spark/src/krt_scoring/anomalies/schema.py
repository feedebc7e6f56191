"""The one schema of all findings.

A *finding* is one unit of one anomaly: a record, an offset, a delivery, a jump, a commit. All
anomalies share one schema, so that they are counted in one aggregation and sorted in another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import (
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FINDING = StructType(
    [
        StructField("anomaly", StringType(), nullable=False),
        StructField("rule", StringType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("producer", StringType()),
        StructField("producer_incarnation", StringType()),
        StructField("seq", LongType()),
        StructField("grp", StringType()),
        StructField("consumer", StringType()),
        StructField("incarnation", StringType()),
        StructField("event_seq", LongType()),
        StructField("tag", StringType()),
        StructField("detail", StringType()),
    ]
)
"""One row a finding. ``rule`` is the rule of the configuration that permits it, null for a
violation; ``tag`` a sub-count of the anomaly (``withinUncommittedWindow``); ``detail`` a JSON
object of integers and texts for people. What a finding is not about is null."""


def finding(anomaly: str | Column, rows: DataFrame, **columns: Column | str) -> DataFrame:
    """Return ``rows`` as findings of ``anomaly``.

    Args:
        anomaly: name of the anomaly, or a column of names.
        rows: one row a finding.
        columns: column of ``FINDING`` → a column of ``rows`` or its name; where a column is
            not given it is taken from ``rows`` by name, and is null where that has none.
    """
    name = sf.lit(anomaly) if isinstance(anomaly, str) else anomaly
    picked = [name.alias("anomaly")]
    for spec in FINDING.fields[1:]:
        value = columns.get(spec.name, spec.name if spec.name in rows.columns else sf.lit(None))
        column = sf.col(value) if isinstance(value, str) else value
        picked.append(column.cast(spec.dataType).alias(spec.name))
    return rows.select(*picked)
