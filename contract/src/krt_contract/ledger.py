"""Writing ledger tables: rows are collected by column and closed into Parquet files.

A file is complete or not there: it is written under a temporary name, synced and renamed, so a
killed pod leaves every earlier file readable and at most one temporary file behind.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from krt_contract.bundle import IN_PROGRESS_SUFFIX, make_directory, sync_directory
from krt_contract.schemas import ADDED, TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

COMPRESSION = "zstd"
"""Ledgers hold long runs of equal identities; level 1 costs little CPU beside the traffic."""

COMPRESSION_LEVEL = 1


def layout(schema: pa.Schema) -> dict[str, Any]:
    """Return how the columns of a ledger are laid out in a file, as ``pq.write_table`` takes it.

    Texts repeat and are written once, as dictionaries. Counters, offsets and times grow by little
    steps, which are what is written: a dictionary of numbers that never repeat is larger than they
    are, and costs its writer and every reader a look-up for each.
    """
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    numbers = [field.name for field in schema if pa.types.is_integer(field.type)]
    return {
        "compression": COMPRESSION,
        "compression_level": COMPRESSION_LEVEL,
        "use_dictionary": texts,
        "column_encoding": dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
    }


def table_of(name: str, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Return rows as an Arrow table of the named schema.

    Args:
        name: name of the table in ``schemas.TABLES``.
        columns: column name → values, every column of the schema, all of one length; only those
            of ``schemas.ADDED`` may be left out, which makes them null.

    Raises:
        KeyError: a column of the schema is missing.
        pyarrow.ArrowInvalid: lengths or types differ from the schema, or a column that must
            have a value in every row has a null.
    """
    schema = TABLES[name]
    count = len(columns[schema.names[0]])
    blank = {column: pa.nulls(count) for column in ADDED.get(name, ())}
    arrays = [pa.array((blank | dict(columns))[field.name], type=field.type) for field in schema]
    table = pa.Table.from_arrays(arrays, schema=schema)
    table.validate()
    for field in schema:
        if not field.nullable and table[field.name].null_count:
            raise pa.ArrowInvalid(
                f"{name}: column {field.name} is null in {table[field.name].null_count} of "
                f"{table.num_rows} rows; the schema wants a value in every row"
            )
    return table


class LedgerWriter:
    """Writes one table of one incarnation as numbered Parquet files.

    Beside the numbered files there may be one *open* file, which each ``write_open`` replaces as
    a whole and ``roll`` gives its number by a single rename: rows become durable twice a second
    without a file for every half second, and no kill can leave a row twice.

    Not thread-safe: one thread owns a writer.

    Args:
        folder: the table's folder in the bundle.
        table: name of the table in ``schemas.TABLES``.
        stem: unique among the writers of the folder, by custom ``<member>-<pod uid>``.
    """

    def __init__(self, folder: Path, table: str, stem: str) -> None:
        self._name = table
        self._folder = folder
        self._stem = stem
        self._next = 0
        self._open = folder / f"{stem}-open.parquet"
        make_directory(folder)

    @property
    def files(self) -> int:
        """Numbered files closed so far."""
        return self._next

    def write(self, columns: Mapping[str, Sequence[Any]]) -> Path | None:
        """Close one file with the given rows and return its path.

        Durable when it returns. No rows, no file: returns None. Arguments and errors are those
        of ``table_of``.

        Raises:
            OSError: the volume refused; nothing was published.
        """
        table = table_of(self._name, columns)
        if table.num_rows == 0:
            return None
        final = self._number()
        self._store(table, final)
        self._next += 1
        return final

    def write_open(self, table: pa.Table) -> None:
        """Replace the open file by the rows of ``table``; durable when it returns.

        Raises:
            OSError: the volume refused; the open file is what it was before.
        """
        self._store(table, self._open)

    def roll(self) -> Path:
        """Give the open file its number, so that the next ``write_open`` starts a new one.

        Raises:
            FileNotFoundError: nothing was written since the last roll.
        """
        final = self._number()
        self._open.replace(final)
        sync_directory(self._folder)
        self._next += 1
        return final

    def discard_open(self) -> None:
        """Take the open file away: what it held was taken back."""
        self._open.unlink()
        sync_directory(self._folder)

    def _number(self) -> Path:
        return self._folder / f"{self._stem}-{self._next:06d}.parquet"

    def _store(self, table: pa.Table, final: Path) -> None:
        temporary = final.with_name(final.name + IN_PROGRESS_SUFFIX)
        with temporary.open("wb") as handle:
            pq.write_table(table, handle, **layout(table.schema))
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(final)
        sync_directory(self._folder)
