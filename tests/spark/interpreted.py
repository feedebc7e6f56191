"""Queries that are interpreted, not compiled: for histories of few records."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Compiling a query takes far longer than interpreting it on a few thousand rows."""


@contextmanager
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Interpret every query within the block. The tests of the job compile theirs, as runs do."""
    before = {key: str(spark.conf.get(key)) for key in INTERPRETED}
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
