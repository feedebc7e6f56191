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
    rows: DataFrame, keys: Sequence[str], order: str, columns: Sequence[str], wanted: Column
) -> DataFrame:
    """Return the wanted rows with ``prev_<column>`` of the row before, by ``order`` within keys.

    Args:
        rows: with the keys, ``bucket`` (non-decreasing in ``order``), the order, which is
            unique within the keys, and the columns; none of ``columns`` may be null where the
            keys are not.
        keys: what parts the sequences.
        order: what a sequence is ordered by.
        columns: what is taken from the row before.
        wanted: condition on columns and ``prev_`` columns; only such rows are returned.
    """
    # What is sorted is compared by its first column, and by all others only where that is alike: a
    # key is alike for most rows of a task, a hash of all that parts them for the few to be ordered.
    spread = rows.withColumn("_spread", sf.xxhash64(*keys, "bucket"))
    inner = Window.partitionBy("_spread", *keys, "bucket").orderBy(order)
    flagged = spread.select(
        *rows.columns,
        *[sf.lag(name).over(inner).alias(f"prev_{name}") for name in columns],
        sf.lead(order).over(inner).isNull().alias("_tail"),
    )
    head = sf.col(f"prev_{columns[0]}").isNull()
    few = flagged.filter(head | sf.col("_tail") | wanted).withColumn("_head", head)
    outer = Window.partitionBy(*keys).orderBy(order)
    before = {
        f"prev_{name}": sf.when(sf.col("_head"), sf.lag(name).over(outer)).otherwise(
            sf.col(f"prev_{name}")
        )
        for name in columns
    }
    return few.withColumns(before).drop("_head", "_tail").filter(wanted)
