"""Combining and shrinking DataFrames at the least cost to Spark's planner and scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.engine.session import ROWS_PER_PARTITION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame


def union_all(tables: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of tables with the same columns, at least one table.

    By halves: Spark analyses both sides of each union completely, so that a chain of unions is
    analysed again for every table behind it.
    """
    if len(tables) == 1:
        return tables[0]
    middle = len(tables) // 2
    return union_all(tables[:middle]).unionAll(union_all(tables[middle:]))


def coalesced(few: DataFrame, rows: int) -> DataFrame:
    """Return rows filtered from all records in as few partitions as their number needs.

    A task for each partition of all records would have next to nothing to read.

    Args:
        few: the rows.
        rows: about how many there are.
    """
    slots = few.sparkSession.sparkContext.defaultParallelism
    return few.coalesce(max(slots, -(-rows // ROWS_PER_PARTITION)))
