"""The parts of a run, of moments and of what was under way when a fault was injected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.windows import PARTS, FaultWindow, part_column, part_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOWS = (
    FaultWindow("first", injected_at=100, recovered_at=200),
    FaultWindow("second", injected_at=300, recovered_at=None),
)
MOMENTS = (0, 99, 100, 200, 201, 299, 300, 900)
UNDER_WAY = {
    (90, 99): "before",
    (90, 100): "during",
    (90, 900): "during",
    (150, 250): "during",
    (201, 299): "after",
    (201, 300): "during",
}


def test_the_expression_parts_moments_as_the_function_does(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(at,) for at in MOMENTS], "at long")
    part = part_column(sf.col("at"), sf.col("at"), WINDOWS).alias("part")
    found = {row["at"]: PARTS[row["part"]] for row in rows.select("at", part).collect()}
    assert found == {at: part_of(at, at, WINDOWS) for at in MOMENTS}


def test_what_was_under_way_at_an_injection_lies_during_it(spark: SparkSession) -> None:
    rows = spark.createDataFrame(list(UNDER_WAY), "due long, ended long")
    part = part_column(sf.col("due"), sf.col("ended"), WINDOWS).alias("part")
    found = rows.select("due", "ended", part).collect()
    assert {(row["due"], row["ended"]): PARTS[row["part"]] for row in found} == UNDER_WAY
    assert {times: part_of(*times, WINDOWS) for times in UNDER_WAY} == UNDER_WAY
