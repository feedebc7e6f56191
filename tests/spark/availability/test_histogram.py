"""The Spark expression bins as the Python function does, and passes over what was never done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.metrics.histogram import bin_column, bin_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EDGES = [(1 << octave) + step for octave in range(6, 44) for step in (-1, 0, 1)]
LATENCIES = [*EDGES, 0, 1, 999, 1_000, 999_999, 6_123_456, 82_130_000, -5, None]


def test_bin_column_agrees_with_bin_of_and_null_has_no_bin(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(value,) for value in LATENCIES], "micros long")
    found = rows.select("micros", bin_column(sf.col("micros")).alias("bin")).collect()
    assert {row["micros"]: row["bin"] for row in found} == {
        value: None if value is None else bin_of(max(value, 0)) for value in LATENCIES
    }
