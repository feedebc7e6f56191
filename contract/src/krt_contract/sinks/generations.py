"""A table's rows in an object store, where nothing is renamed and no key is written twice."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from krt_contract.ledger import layout, table_of
from krt_contract.object_layout import TABLE_SUFFIX, Part, parse_part
from krt_contract.schemas import TABLES
from krt_contract.stores.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_contract.sinks.patience import Patience
    from krt_contract.stores.store import Store


class GenerationWriter:
    """Writes one table of one incarnation as generations of numbered objects.

    Each write is a new generation of the current number, with all of that number's rows; the one
    before is deleted once the store has acknowledged it. So a write that was given up and lands
    later does no harm: a higher generation is there, and readers take the highest.

    Not thread-safe: one thread owns a writer.

    Args:
        store: where objects go.
        patience: waits for the store.
        folder: key of the table's folder.
        table: name of the table in ``schemas.TABLES``.
        stem: unique among the writers of the folder.
    """

    def __init__(
        self, store: Store, patience: Patience, folder: str, table: str, stem: str
    ) -> None:
        self._store, self._patience = store, patience
        self._folder, self._table, self._stem = folder, table, stem
        self._number = 0
        self._generations = self._keys()
        self._last: str | None = None

    def write(self, columns: Mapping[str, Sequence[Any]]) -> str | None:
        """Write rows and number them; see ``TableWriter.write``. Errors as of ``table_of``."""
        table = table_of(self._table, columns)
        if table.num_rows == 0:
            return None
        self.write_open(table)
        return self.roll()

    def write_open(self, table: pa.Table) -> None:
        """Write the next generation; see ``TableWriter.write_open``. Waits for the store."""
        key = self._patience.put(self._generations, encode(table))
        before, self._last = self._last, key
        if before is not None:
            # Should it fail, readers skip it all the same.
            with contextlib.suppress(StoreError):
                self._store.delete(before)

    def roll(self) -> str:
        """Begin the next number; see ``TableWriter.roll``.

        Raises:
            FileNotFoundError: nothing was written since the last roll.
        """
        if self._last is None:
            raise FileNotFoundError(f"{self._folder}: nothing was written since the last number")
        key, self._last = self._last, None
        self._number += 1
        self._generations = self._keys()
        return key

    def discard_open(self) -> None:
        """Take back the open rows, by a generation without any; see ``TableWriter.discard_open``.

        Nothing is deleted: a write that was given up might land, and would be the highest then.
        """
        self.write_open(TABLES[self._table].empty_table())

    def _keys(self) -> Iterator[str]:
        """Yield the keys of the current number's generations, above those that are there."""
        start = self._patience.until_done(self._next_generation)
        number = self._number
        while True:
            name = Part(self._stem, number, start, TABLE_SUFFIX).name
            yield f"{self._folder}/{name}"
            start += 1

    def _next_generation(self) -> int:
        if self._number:
            return 0
        parts = (
            parse_part(entry.key.rpartition("/")[2]) for entry in self._store.list(self._folder)
        )
        return 1 + max(
            (part.generation for part in parts if part and part.stem == self._stem), default=-1
        )


def encode(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file, laid out as ledgers are."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, **layout(table.schema))
    data: bytes = buffer.getvalue().to_pybytes()
    return data
