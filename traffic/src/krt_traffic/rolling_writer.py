"""One table's rows in files of bounded size, durable at every flush.

Rows go to one *open* file that is replaced at every flush; when it has grown, it gets its final
number (``TableWriter``). A kill loses what came since the last flush and never leaves a row twice.
A kill while a file gets its number also loses provisional rows: two files cannot be replaced in one
step, and a row that is there twice would be worse than one that is not there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from krt_traffic.clock import mono

if TYPE_CHECKING:
    from krt_contract.sinks.sink import TableWriter

ROLL_ROWS = 10_000
"""Rows at which the open file gets its number: what is written again at each flush stays small
(about 10 ms of CPU) and a run has files by the dozen, not by the thousand."""

ROLL_MICROS = 60_000_000
"""Age at which the open file gets its number whatever its size, 60 s: sparse tables (events) make
few files too, which Spark would otherwise open one by one."""


@dataclass(slots=True)
class RollingWriter:
    """One table of one incarnation; used by the ledger's thread alone.

    Args:
        writer: writes the files.
    """

    writer: TableWriter
    _settled: list[pa.Table] = field(default_factory=list)
    _rows: int = 0
    _since: int = field(default_factory=mono)
    _open: bool = False

    @property
    def grown(self) -> bool:
        """Whether the open file is to get its number at the next flush."""
        return self._rows >= ROLL_ROWS

    def flush(
        self, rows: pa.Table, provisional: pa.Table | None = None, *, roll: bool = True
    ) -> None:
        """Make ``rows`` durable, beside ``provisional`` ones that a later flush takes back.

        Args:
            rows: rows that are settled.
            provisional: rows that are not: written now, and written again (or not) by the next
                flush.
            roll: whether the open file may get its number now. For a moment provisional rows that
                were durable then are not: False while a commit relies on them.

        Raises:
            OSError: the volume refused.
        """
        if rows.num_rows:
            self._settled.append(rows)
            self._rows += rows.num_rows
        old = self._rows and mono() - self._since >= ROLL_MICROS
        if roll and (self.grown or old):
            self._roll()
            rows = rows.slice(0, 0)
        extra = [provisional] if provisional is not None and provisional.num_rows else []
        if not (rows.num_rows or extra or self._open):
            return
        self.writer.write_open(pa.concat_tables([*self._settled, *extra] or [rows]))
        # A file that has nothing but settled rows need not be written again without new ones.
        self._open = bool(extra)

    def close(self, rows: pa.Table) -> None:
        """Make the last rows durable and give everything its final name."""
        if rows.num_rows:
            self._settled.append(rows)
            self._rows += rows.num_rows
        if self._rows:
            self._roll()
        elif self._open:
            self.writer.discard_open()

    def _roll(self) -> None:
        self.writer.write_open(pa.concat_tables(self._settled))
        self.writer.roll()
        self._settled, self._rows, self._since, self._open = [], 0, mono(), False
