"""Rows in memory that are in no file yet: bounded in bytes, whatever the rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_traffic.ledger_thread import LedgerThread

FLUSH_BYTES = 8 << 20
"""Waiting rows that are flushed before their time: time alone would let 40 MiB wait at the highest
rate, and a flush needs as much again for its columns; the pod has 256 MiB."""

MOST_BYTES = 2 * FLUSH_BYTES
"""Waiting rows at which traffic waits, too: the volume is slower than it, or the object store is
unavailable. At 500 records a second they are what comes in two minutes of a producer."""


class Backlog:
    """Watches how much waits for a flush.

    Args:
        ledger: flushes.
        waiting_bytes: returns the memory of the rows that wait now.
    """

    def __init__(self, ledger: LedgerThread, waiting_bytes: Callable[[], int]) -> None:
        self._ledger, self._waiting_bytes = ledger, waiting_bytes
        self._requested = 0

    def relieve(self) -> bool:
        """Request a flush where much waits; return whether no more may come until it is done."""
        waiting = self._waiting_bytes()
        if waiting >= FLUSH_BYTES and self._ledger.durable >= self._requested:
            self._requested = self._ledger.request()
        return waiting >= MOST_BYTES
