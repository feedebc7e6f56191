"""Writing evidence tables by rows, in files of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.ledger import LedgerWriter
from krt_contract.schemas import TABLES

if TYPE_CHECKING:
    from krt_contract.bundle import Bundle

ROWS_PER_FILE = 200_000
"""Rows held before a file is written: some 100 MiB of Python objects."""


class Sink:
    """One table of one process."""

    def __init__(self, bundle: Bundle, table: str, incarnation: str) -> None:
        self._writer = LedgerWriter(bundle.table(table), table, incarnation)
        self._names = TABLES[table].names
        self._rows: list[tuple[Any, ...]] = []

    def add(self, **row: Any) -> None:
        """Take one row; columns not given are null."""
        self._rows.append(tuple(row.get(name) for name in self._names))
        if len(self._rows) >= ROWS_PER_FILE:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        if self._rows:
            columns = zip(*self._rows, strict=True)
            self._writer.write(dict(zip(self._names, columns, strict=True)))
            self._rows = []
