"""The evidence of a run: its ledgers as DataFrames, its timeline as events.

Tables are read by their explicit schema (``krt_contract.schemas``), never by the schema that a file
gives. The timeline is bounded by what happened to the cluster, not by records, and is read into
the driver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from krt_contract.bundle import Bundle
from krt_contract.schemas import TABLES
from krt_scoring.engine import local_rows
from krt_scoring.inputs import timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from krt_contract.plan import Plan
    from krt_contract.timeline import Event

_PLAIN: dict[pa.DataType, DataType] = {
    pa.string(): StringType(),
    pa.int64(): LongType(),
    pa.int32(): IntegerType(),
    pa.bool_(): BooleanType(),
}


def _spark_type(kind: pa.DataType) -> DataType:
    if pa.types.is_list(kind):
        return ArrayType(_spark_type(kind.value_type), containsNull=False)
    return _PLAIN[kind]


def spark_schema(table: str) -> StructType:
    """Return the Spark schema of a ledger table; every column nullable, as Parquet reads."""
    return StructType(
        [StructField(column.name, _spark_type(column.type)) for column in TABLES[table]]
    )


SCHEMAS: dict[str, StructType] = {table: spark_schema(table) for table in TABLES}
"""Ledger table → its Spark schema."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The evidence of one run.

    Attributes:
        run: the resolved plan.
        produce, producer_summary, consume, consumer_events, log, log_end_offsets: the ledger
            tables, columns as in ``krt_contract.schemas``.
        replica_log, replica_bounds: what each broker holds; empty where the run did not ask for it.
        timeline: events in order of ``at``; equal times in order of their text.
        counted: rows of the tables whose files' footers say it.
        writers: incarnations that wrote a table, as its files' footers name them; a table that is
            not here may be anybody's.
    """

    run: Plan
    produce: DataFrame
    producer_summary: DataFrame
    consume: DataFrame
    consumer_events: DataFrame
    log: DataFrame
    log_end_offsets: DataFrame
    replica_log: DataFrame
    replica_bounds: DataFrame
    timeline: tuple[Event, ...]
    counted: Mapping[str, int] = field(default_factory=dict)
    writers: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def count(self, table: str) -> int:
        """Return how many rows a table has."""
        if table in self.counted:
            return self.counted[table]
        rows: DataFrame = getattr(self, table)
        return rows.count()

    @property
    def spark(self) -> SparkSession:
        """The session that the tables are of."""
        return self.produce.sparkSession


def read(spark: SparkSession, root: Path, run: Plan) -> Tables:
    """Read a bundle; a table without files is empty.

    Torn or unreadable timeline lines are left out here; ``inputs.timeline`` names them.
    """
    bundle = Bundle(root)
    tables = {table: _table(spark, bundle.table(table), table) for table in TABLES}
    return build(run, tables, timeline.read(bundle.timeline).events)


def build(
    run: Plan,
    tables: Mapping[str, DataFrame],
    events: Iterable[Event],
    counted: Mapping[str, int] | None = None,
    writers: Mapping[str, frozenset[str]] | None = None,
) -> Tables:
    """Return the evidence made of given tables and events, the events in order of time.

    Args:
        run: the plan.
        tables: table → its rows.
        events: of the timeline.
        counted: rows of the tables whose number is known.
        writers: incarnations that wrote the tables of which that is known.
    """
    ordered = tuple(sorted(events, key=lambda event: (event.at, event.line())))
    return Tables(run=run, timeline=ordered, counted=counted or {}, writers=writers or {}, **tables)


def _table(spark: SparkSession, folder: Path, table: str) -> DataFrame:
    if not folder.is_dir():
        return local_rows.frame(spark, [], SCHEMAS[table])
    # A folder, not its files: above 32 paths Spark lists them by a job of its own.
    reader = spark.read.schema(SCHEMAS[table]).option("pathGlobFilter", "*.parquet")
    return reader.parquet(str(folder))
