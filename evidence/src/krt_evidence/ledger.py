"""Writing ledger tables: rows are collected by column and closed into Parquet files.

A file is complete or not there: it is written under a temporary name, synced and renamed, so a
killed pod leaves every earlier file readable and at most one temporary file behind.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from krt_evidence.bundle import IN_PROGRESS_SUFFIX, make_directory, sync_directory
from krt_evidence.schemas import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

COMPRESSION = "zstd"
"""Ledgers hold long runs of equal identities; level 1 costs little CPU beside the traffic."""

COMPRESSION_LEVEL = 1


class LedgerWriter:
    """Writes one table of one incarnation as numbered Parquet files.

    Not thread-safe: one thread owns a writer.

    Args:
        folder: the table's folder in the bundle.
        table: name of the table in ``schemas.TABLES``.
        stem: unique among the writers of the folder, by custom ``<member>-<pod uid>``.
    """

    def __init__(self, folder: Path, table: str, stem: str) -> None:
        self._schema = TABLES[table]
        self._folder = folder
        self._stem = stem
        self._next = 0
        make_directory(folder)

    @property
    def files(self) -> int:
        """Files closed so far."""
        return self._next

    def write(self, columns: Mapping[str, Sequence[Any]]) -> Path | None:
        """Close one file with the given rows and return its path.

        Durable when it returns. No rows, no file: returns None.

        Args:
            columns: column name → values, every column of the schema, all of one length.

        Raises:
            KeyError: a column of the schema is missing.
            pyarrow.ArrowInvalid: lengths or types differ from the schema.
            OSError: the volume refused; nothing was published.
        """
        arrays = [pa.array(columns[field.name], type=field.type) for field in self._schema]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        if table.num_rows == 0:
            return None
        table.validate()
        self._refuse_nulls(table)
        name = f"{self._stem}-{self._next:06d}.parquet"
        final = self._folder / name
        temporary = self._folder / (name + IN_PROGRESS_SUFFIX)
        with temporary.open("wb") as handle:
            pq.write_table(
                table, handle, compression=COMPRESSION, compression_level=COMPRESSION_LEVEL
            )
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(final)
        sync_directory(self._folder)
        self._next += 1
        return final

    def _refuse_nulls(self, table: pa.Table) -> None:
        for field in self._schema:
            if not field.nullable and table[field.name].null_count:
                raise pa.ArrowInvalid(
                    f"{self._folder.name}: column {field.name} is null in "
                    f"{table[field.name].null_count} of {table.num_rows} rows of {self._stem}; "
                    "the schema wants a value in every row"
                )
