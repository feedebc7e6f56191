"""Cached rows, as a DataFrame whose plan begins with the cache.

What ``persist`` returns still carries the plan that made the rows. Spark analyses all of it again
with every step that is added, copies it for every join and union of such rows, and compares it with
the cached plans for every query.

Spark has no public way to such a DataFrame. Where the internals it needs are missing, where the
rows have an order, and without this shortcut, ``cache`` falls back to what ``persist`` returns: the
same rows, planned more slowly.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.sql.classic.dataframe import DataFrame as Classic

from krt_scoring.engine.session import Shortcut, takes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Cached:
    """Cached rows.

    Attributes:
        rows: to be read from the cache, which is filled when they are first read; rows that are
            lost with an executor are computed again.
        source: the DataFrame that computes them.
    """

    rows: DataFrame
    source: DataFrame

    def release(self) -> None:
        """Release the memory."""
        self.source.unpersist()


def cache(source: DataFrame) -> Cached:
    """Cache rows."""
    kept = source.persist()
    if takes(source.sparkSession, Shortcut.CACHING) and not _ordered(kept):
        try:
            return Cached(_from_cache(kept), source)
        except (Py4JError, AttributeError, TypeError) as error:
            log.warning("caching by Spark's public interface, which plans longer: %s", error)
    return Cached(kept, source)


def _ordered(rows: DataFrame) -> bool:
    """Return whether Spark knows an order of the rows; True where that cannot be asked.

    Spark 4.0.4 fails to join cached rows that have one with themselves, once their plan begins with
    the cache (``InMemoryRelation.withOutput``).
    """
    try:
        plan = rows._jdf.queryExecution().optimizedPlan()  # noqa: SLF001
        return not plan.outputOrdering().isEmpty()
    except (Py4JError, AttributeError, TypeError):
        return True


def _from_cache(kept: DataFrame) -> DataFrame:
    """Return the cached rows as a DataFrame that does not know what computes them.

    Raises:
        Py4JError, AttributeError, TypeError: this Spark has other internals.
    """
    spark = kept.sparkSession
    # A select, since a plan that was analysed before would not know that it is cached.
    plan = kept.select("*")._jdf.queryExecution().withCachedData()  # noqa: SLF001
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    rows = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan)  # noqa: SLF001
    return Classic(rows, spark)
