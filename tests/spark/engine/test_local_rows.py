"""Rows of the driver, as part of the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructField, StructType

from krt_scoring.engine.local_rows import frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUT = StructType([StructField("at", LongType()), StructField("rule", StringType())])
SCHEMA = StructType([StructField("tp", IntegerType()), StructField("cuts", ArrayType(CUT))])


def test_frame_nested_rows_returns_them(spark: SparkSession) -> None:
    rows = [(1, [(1 << 60, "unclean"), (0, None)]), (None, []), (-3, None)]
    assert [tuple(row) for row in frame(spark, rows, SCHEMA).collect()] == rows


def test_frame_without_rows_has_columns(spark: SparkSession) -> None:
    empty = frame(spark, [], "tp long, whole array<int>")
    assert (empty.columns, empty.collect()) == (["tp", "whole"], [])


@pytest.mark.parametrize("rows", [[(1,)], []])
def test_frame_puts_rows_into_the_plan(
    spark: SparkSession, rows: list[tuple[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    frame(spark, rows, "tp int").explain()
    assert "LocalTableScan" in capsys.readouterr().out


def test_frame_and_a_list_give_the_same_rows(spark: SparkSession) -> None:
    rows = [(1, [(1 << 60, "unclean"), (0, None)]), (None, []), (-3, None)]
    by_list = spark.createDataFrame(rows, SCHEMA)
    assert frame(spark, rows, SCHEMA).collect() == by_list.collect()
    assert frame(spark, rows, SCHEMA).schema == by_list.schema


def test_frame_number_too_large_is_refused(spark: SparkSession) -> None:
    with pytest.raises(pa.ArrowException):
        frame(spark, [(1 << 40,)], "tp int")
