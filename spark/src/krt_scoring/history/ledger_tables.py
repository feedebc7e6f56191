"""The usable ledger files of a bundle as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as sf

from krt_contract.schemas import TABLES
from krt_scoring.engine import local_rows
from krt_scoring.history import tables
from krt_scoring.inputs.footers import IDENTITY
from krt_scoring.inputs.row_limits import GROUPED

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

    from krt_scoring.history.tables import Tables
    from krt_scoring.inputs.bundle_files import Inspection
    from krt_scoring.inputs.recording import Recording
    from krt_scoring.inputs.row_limits import RowLimits


SIDE_TABLES = frozenset(
    {"producer_summary", "consumer_events", "log_end_offsets", "replica_bounds"}
)
"""Tables with a row for each member, partition or event, not for each record."""

IN_PLAN_ROWS = 20_000
"""Up to so many rows of a side table are part of the plan (2 MiB): opening their files would take a
query of its own each time, and on a small history queries are what takes the time."""


def read(spark: SparkSession, recording: Recording) -> Tables:
    """Read the ledgers of a recorded run: of each table the files that can be used."""
    inspection = recording.inspection
    rows = {table: _table(spark, inspection, table) for table in TABLES}
    if recording.limits is not None:
        for table in inspection.unsound:
            rows[table] = rows[table].filter(_sound(table, recording.limits))
    counted = {table: inspection.rows[table] for table in rows if table not in inspection.unsound}
    # A file of ours has rows of one incarnation; of an imported one the footer names two of many.
    known = () if recording.run.imported else IDENTITY
    writers = {
        table: frozenset(incarnation for _, incarnation in inspection.incarnations[table])
        for table in known
    }
    return tables.build(recording.run, rows, recording.timeline.events, counted, writers)


def _sound(table: str, limits: RowLimits) -> Column:
    """Return whether a row of a table is within the run's limits; null is."""
    sound: Column = sf.lit(col=True)
    for name, (low, high) in limits.ranges(table).items():
        sound = sound & sf.coalesce(sf.col(name).between(low, high), sf.lit(col=True))
    if table in GROUPED:
        sound = sound & sf.col("group").isin(*sorted(limits.groups))
    return sound


def _table(spark: SparkSession, inspection: Inspection, table: str) -> DataFrame:
    files, schema = inspection.files[table], tables.SCHEMAS[table]
    if not files:
        return local_rows.frame(spark, [], schema)
    if table in SIDE_TABLES and inspection.rows[table] <= IN_PLAN_ROWS:
        return local_rows.of_table(spark, _read(files, TABLES[table]), schema)
    reader = spark.read.schema(schema).option("pathGlobFilter", "*.parquet")
    # The folder where all of its files can be used: above 32 paths Spark lists them by a job.
    if inspection.uris:
        rows = reader.parquet(*[inspection.uris[path] for path in files])
    elif table in inspection.left_out:
        rows = reader.parquet(*[str(path.resolve()) for path in files])
    else:
        rows = reader.parquet(str(inspection.bundle.table(table).resolve()))
    # A value that is the same in every row need not be read, nor compared row by row.
    same = inspection.constants.get(table, {})
    return rows.withColumns({name: sf.lit(value) for name, value in same.items()})


def _read(files: Iterable[Path], schema: pa.Schema) -> pa.Table:
    # Names of folders above are no columns.
    return pa.concat_tables(pq.read_table(path, schema=schema, partitioning=None) for path in files)
