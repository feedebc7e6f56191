"""Cached rows begin with the cache, or are what ``persist`` gives, with the same content."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import functions as sf

from krt_scoring.engine import caching, session
from krt_scoring.engine.caching import cache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def plain(spark: SparkSession) -> Iterator[SparkSession]:
    """The session without this shortcut."""
    before = str(spark.conf.get(session.PLAIN))
    spark.conf.set(session.PLAIN, session.Shortcut.CACHING)
    yield spark
    spark.conf.set(session.PLAIN, before)


def _begins_with(rows: DataFrame) -> str:
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001
    assert leaves.size() == 1
    return str(leaves.apply(0).nodeName())


def _source(spark: SparkSession) -> DataFrame:
    return spark.range(10).repartition(2).withColumn("drawn", sf.rand())


def _read(rows: DataFrame) -> dict[int, float]:
    return {row["id"]: row["drawn"] for row in rows.collect()}


def test_cache_rows_read_twice_are_computed_once(spark: SparkSession) -> None:
    cached = cache(_source(spark))
    try:
        first = _read(cached.rows)
        assert first == _read(cached.rows.filter("id >= 0"))
        assert sorted(first) == list(range(10))
    finally:
        cached.release()


def test_cache_in_a_plain_session_computes_once_too(plain: SparkSession) -> None:
    cached = cache(_source(plain))
    try:
        assert cached.rows is cached.source
        assert _read(cached.rows) == _read(cached.rows.filter("id >= 0"))
    finally:
        cached.release()
    assert not cached.source.storageLevel.useMemory


@pytest.mark.parametrize("error", [Py4JError("no such class"), AttributeError("_jdf")])
def test_cache_without_the_internals_falls_back_to_persist(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_: DataFrame) -> DataFrame:
        raise error

    monkeypatch.setattr(caching, "_from_cache", fail)
    cached = cache(_source(spark))
    try:
        assert sorted(_read(cached.rows)) == list(range(10))
        assert cached.source.storageLevel.useMemory
    finally:
        cached.release()


def test_cache_and_persist_give_the_same_rows(spark: SparkSession) -> None:
    source = _source(spark)
    cached = cache(source)
    try:
        assert _read(cached.rows) == _read(source)
        assert cached.rows.schema == source.schema
    finally:
        cached.release()


def test_cache_a_further_step_plans_from_the_cache(spark: SparkSession) -> None:
    source = _source(spark)
    cached = cache(source)
    try:
        assert _begins_with(source) == "Range"
        assert not caching._ordered(source)  # noqa: SLF001
        assert _begins_with(cached.rows.filter("id > 2")) == "InMemoryRelation"
        other = cached.rows.withColumnRenamed("drawn", "second")
        both = cached.rows.join(other, "id").filter(sf.col("drawn") == sf.col("second"))
        assert both.count() == 10
        assert sorted(cached.rows.columns) == sorted(source.columns)
    finally:
        cached.release()


def test_cache_ordered_rows_keep_their_plan_and_join_with_themselves(spark: SparkSession) -> None:
    cached = cache(spark.range(10).withColumn("drawn", sf.rand()))
    try:
        assert cached.rows is cached.source
        other = cached.rows.withColumnRenamed("drawn", "second")
        assert cached.rows.join(other, "id").filter("drawn = second").count() == 10
    finally:
        cached.release()


def test_cache_columns_of_the_source_name_cached_columns(spark: SparkSession) -> None:
    source = _source(spark)
    cached = cache(source)
    try:
        assert cached.rows.select(source["id"]).count() == 10
    finally:
        cached.release()


def test_release_cached_rows_frees_the_memory(spark: SparkSession) -> None:
    source = spark.range(7).withColumn("twice", sf.col("id") * 2)
    cached = cache(source)
    cached.rows.count()
    assert source.storageLevel.useMemory
    cached.release()
    assert not source.storageLevel.useMemory
