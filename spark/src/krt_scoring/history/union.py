"""Many tables put one under the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame


def together(tables: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of tables with the same columns, at least one table.

    By halves: Spark looks over both sides of each union as a whole, so that one table after the
    other would be looked over again for every one behind it.
    """
    if len(tables) == 1:
        return tables[0]
    middle = len(tables) // 2
    return together(tables[:middle]).unionAll(together(tables[middle:]))
