"""Cached rows that begin with the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.engine.caching import hold

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _begins_with(rows: DataFrame) -> str:
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001
    assert leaves.size() == 1
    return str(leaves.apply(0).nodeName())


def _made(spark: SparkSession) -> DataFrame:
    return spark.range(10).withColumn("drawn", sf.rand())


def test_rows_are_made_once(spark: SparkSession) -> None:
    held = hold(_made(spark))
    try:
        first = {row["id"]: row["drawn"] for row in held.rows.collect()}
        again = {row["id"]: row["drawn"] for row in held.rows.filter("id >= 0").collect()}
        assert first == again
        assert sorted(first) == list(range(10))
    finally:
        held.release()


def test_a_step_more_does_not_carry_what_the_rows_were_made_by(spark: SparkSession) -> None:
    made = _made(spark)
    held = hold(made)
    try:
        assert _begins_with(made) == "Range"
        assert _begins_with(held.rows.filter("id > 2")) == "InMemoryRelation"
        other = held.rows.withColumnRenamed("drawn", "second")
        both = held.rows.join(other, "id").filter(sf.col("drawn") == sf.col("second"))
        assert both.count() == 10
        assert sorted(held.rows.columns) == sorted(made.columns)
    finally:
        held.release()


def test_what_was_made_of_the_columns_before_still_names_them(spark: SparkSession) -> None:
    made = _made(spark)
    held = hold(made)
    try:
        assert held.rows.select(made["id"]).count() == 10
    finally:
        held.release()


def test_memory_is_given_back(spark: SparkSession) -> None:
    made = spark.range(7).withColumn("twice", sf.col("id") * 2)
    held = hold(made)
    held.rows.count()
    assert made.storageLevel.useMemory
    held.release()
    assert not made.storageLevel.useMemory
