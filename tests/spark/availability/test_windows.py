"""The parts of a run: the Spark expression says what the Python function does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.inputs.fault_windows import (
    PARTS,
    FaultWindow,
    part_column,
    part_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOWS = (
    FaultWindow("first", injected_at=100, recovered_at=200),
    FaultWindow("second", injected_at=300, recovered_at=None),
)
OPERATIONS = {
    (0, 0): "before",
    (90, 99): "before",
    (90, 100): "during",
    (90, 900): "during",
    (150, 250): "during",
    (200, 200): "during",
    (201, 299): "after",
    (201, 300): "during",
    (900, 900): "during",
}


def test_part_column_of_an_operation_in_flight_is_during(spark: SparkSession) -> None:
    rows = spark.createDataFrame(list(OPERATIONS), "due long, ended long")
    part = part_column(sf.col("due"), sf.col("ended"), WINDOWS).alias("part")
    found = rows.select("due", "ended", part).collect()
    assert {(row["due"], row["ended"]): PARTS[row["part"]] for row in found} == OPERATIONS
    assert {key: part_of(*key, WINDOWS) for key in OPERATIONS} == OPERATIONS
