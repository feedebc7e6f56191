"""Columns of the ledgers, read a batch at a time, so that memory is bounded whatever the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    Files = Mapping[str, Sequence[Path]]

BATCH_ROWS = 65_536
"""Rows of a ledger read together."""


def read_rows(files: Files, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a ledger.

    Args:
        files: table of the bundle → its usable files.
        table: the ledger.
        columns: what to read of each row.
    """
    for batch in read_batches(files, table, *columns):
        values = batch.to_pydict()
        yield from zip(*(values[name] for name in columns), strict=True)


def read_batches(files: Files, table: str, *columns: str) -> Iterator[Any]:
    """Yield columns of a ledger as Arrow batches."""
    for path in files.get(table, ()):
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=list(columns))
