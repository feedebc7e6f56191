"""Making rows durable beside the traffic, never in its way.

A table's rows go to one *open* file that is replaced as a whole at every flush; when it has
grown, it gets its number by one rename (``LedgerWriter``). A kill between two flushes loses what
came since the first of them and never leaves a row twice.
"""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from krt_contract.ledger import LedgerWriter
from krt_traffic.clock import mono

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.5
"""Time between two flushes; bounds the sends a killed producer leaves without a row."""

ROLL_ROWS = 10_000
"""Rows at which the open file gets its number: what is written anew at each flush stays small
(about 10 ms of CPU) and a run has files by the dozen, not by the thousand."""

ROLL_MICROS = 60_000_000
"""Age at which the open file gets its number whatever its size, 60 s: sparse tables (events) make
few files too, which Spark would otherwise open one by one."""


@dataclass(slots=True)
class Rolling:
    """One table of one incarnation; used by the ledger's thread alone.

    Args:
        writer: writes the files.
    """

    writer: LedgerWriter
    _kept: list[pa.Table] = field(default_factory=list)
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
            rows: what is settled.
            provisional: what is not: written now, written anew (or not) by the next flush.
            roll: whether the open file may get its number now. For a moment provisional rows that
                were durable then are not: not where somebody relies on them.

        Raises:
            OSError: the volume refused.
        """
        if rows.num_rows:
            self._kept.append(rows)
            self._rows += rows.num_rows
        old = self._rows and mono() - self._since >= ROLL_MICROS
        if roll and (self.grown or old):
            self._roll()
            rows = rows.slice(0, 0)
        extra = [provisional] if provisional is not None and provisional.num_rows else []
        if not (rows.num_rows or extra or self._open):
            return
        self.writer.write_open(pa.concat_tables([*self._kept, *extra] or [rows]))
        # A file that holds nothing but settled rows need not be written again without new ones.
        self._open = bool(extra)

    def close(self, rows: pa.Table) -> None:
        """Make the last rows durable and give everything its final name."""
        if rows.num_rows:
            self._kept.append(rows)
            self._rows += rows.num_rows
        if self._rows:
            self._roll()
        elif self._open:
            self.writer.discard_open()

    def _roll(self) -> None:
        self.writer.write_open(pa.concat_tables(self._kept))
        self.writer.roll()
        self._kept, self._rows, self._since, self._open = [], 0, mono(), False


class LedgerThread:
    """Calls ``flush`` twice a second and on demand, in a thread of its own.

    When the volume fails, the process ends: traffic without a ledger proves nothing, and a pod
    that is gone without its termination message is seen as vanished.

    Args:
        flush: makes durable what has come in; called from this thread only.
    """

    def __init__(self, flush: Callable[[], None]) -> None:
        self._flush = flush
        self._wake = threading.Condition()
        self._wanted = 0
        self._durable = 0
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    @property
    def durable(self) -> int:
        """The highest ticket of ``request`` whose rows are durable."""
        return self._durable

    def request(self) -> int:
        """Ask for a flush now and return its ticket."""
        with self._wake:
            self._wanted += 1
            self._wake.notify_all()
            return self._wanted

    def settle(self) -> None:
        """Return when everything that came in before the call is durable."""
        ticket = self.request()
        with self._wake:
            self._wake.wait_for(lambda: self._durable >= ticket)

    def stop(self) -> None:
        """End the thread after a last flush."""
        with self._wake:
            self._ending = True
            self._wake.notify_all()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._ending:
                with self._wake:
                    self._wake.wait_for(
                        lambda: self._ending or self._wanted > self._durable, FLUSH_SECONDS
                    )
                    ticket = self._wanted
                self._flush()
                with self._wake:
                    self._durable = ticket
                    self._wake.notify_all()
        except Exception:
            log.exception("the ledger cannot be written; ending, because nothing would be verified")
            logging.shutdown()
            os._exit(1)


def writer(folder: Path, table: str, member: str, incarnation: str) -> LedgerWriter:
    """Return the writer of one table of one incarnation below the bundle's folder."""
    return LedgerWriter(folder / table, table, f"{member}-{incarnation}")
