"""Rows that are cached, as a DataFrame that begins with the cache.

What ``persist`` returns still carries the plan the rows were made by, and Spark walks all of it
again with every step that is added, copies it for every join and union of such rows, and compares
it with what is cached for every query: a fifth of the time a scoring spent planning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.classic.dataframe import DataFrame as Classic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Held:
    """Cached rows.

    Attributes:
        rows: to be read from the cache, which is filled when they are first read; rows that an
            executor took with it are made again.
        made: what they are made by.
    """

    rows: DataFrame
    made: DataFrame

    def release(self) -> None:
        """Give back the memory."""
        self.made.unpersist()


def hold(made: DataFrame) -> Held:
    """Cache rows."""
    spark = made.sparkSession
    # Nothing public leads from rows to the plan that reads them from the cache. A select, since a
    # plan that was looked at before would not know that it is cached.
    cached = made.persist().select("*")._jdf.queryExecution().withCachedData()  # noqa: SLF001
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    read = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, cached)  # noqa: SLF001
    return Held(Classic(read, spark), made)
