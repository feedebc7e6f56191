"""Rows of the driver as a DataFrame that needs nothing but its plan.

``createDataFrame`` of a list makes an RDD that Python workers copy in every query that reads it: a
process started on each executor, for a handful of rows. Of an Arrow table, which Spark takes as
publicly since 4.0, the rows become part of the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession


def frame(
    spark: SparkSession, rows: Sequence[Sequence[Any]], schema: StructType | str
) -> DataFrame:
    """Return rows as a DataFrame.

    Args:
        spark: the session.
        rows: in the order of the schema's columns; structs within them as tuples.
        schema: columns and types, or their DDL.

    Raises:
        pyarrow.ArrowException: a value does not fit the type of its column.
    """
    parsed = schema if isinstance(schema, StructType) else StructType.fromDDL(schema)
    struct = cast("StructType", parsed)
    columns = to_arrow_schema(struct)
    arrays = [
        pa.array([row[index] for row in rows], type=column.type)
        for index, column in enumerate(columns)
    ]
    return of_table(spark, pa.Table.from_arrays(arrays, schema=columns), struct)


def of_table(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    """Return the rows of an Arrow table as a DataFrame.

    Args:
        spark: the session.
        rows: with the columns of the schema, in its order.
        schema: their types in Spark.

    Raises:
        pyarrow.ArrowException: a value does not fit the type of its column.
    """
    made: DataFrame = spark.createDataFrame(rows.cast(to_arrow_schema(schema)), schema)
    return made
