"""The row before, without sorting a whole partition in one task.

Rows are spread by (keys, bucket of the order); inside a bucket the row before is a window
function away, and the first row of a bucket finds its neighbour among the last rows of the
buckets: one row in 4096, sorted in a second, small step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame


def with_previous(
    rows: DataFrame, keys: Sequence[str], order: str, columns: Sequence[str], condition: Column
) -> DataFrame:
    """Return the rows that meet a condition, with ``prev_<column>`` of the row before each.

    Args:
        rows: with the keys, ``bucket`` (non-decreasing in ``order``), the order, which is
            unique within the keys, and the columns; the first of ``columns`` may not be null where
            the keys are not.
        keys: columns that identify a sequence.
        order: column that a sequence is ordered by.
        columns: columns taken from the row before.
        condition: on columns and ``prev_`` columns; only such rows are returned.
    """
    # A sort compares the first column, and the others only where it is equal: a key is equal for
    # most rows of a task, a hash of key and bucket only for the few that have to be ordered.
    spread = rows.withColumn("_spread", sf.xxhash64(*keys, "bucket"))
    inner = Window.partitionBy("_spread", *keys, "bucket").orderBy(order)
    flagged = spread.select(
        *rows.columns,
        *[sf.lag(name).over(inner).alias(f"prev_{name}") for name in columns],
        sf.lead(order).over(inner).isNull().alias("_tail"),
    )
    head = sf.col(f"prev_{columns[0]}").isNull()
    few = flagged.filter(head | sf.col("_tail") | condition).withColumn("_head", head)
    outer = Window.partitionBy(*keys).orderBy(order)
    before = {
        f"prev_{name}": sf.when(sf.col("_head"), sf.lag(name).over(outer)).otherwise(
            sf.col(f"prev_{name}")
        )
        for name in columns
    }
    return few.withColumns(before).drop("_head", "_tail").filter(condition)
