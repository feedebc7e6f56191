"""Making rows durable beside the traffic, never in its way."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.5
"""Time between two flushes; bounds the sends a killed producer leaves without a row."""


class LedgerThread:
    """Calls ``flush`` twice a second and on demand, in a thread of its own.

    An object store that is unavailable is waited for within ``flush``, and what waits for durable
    rows waits with it: commits, above all. When a volume fails, the process ends: traffic without
    a ledger proves nothing, and the controller reports a pod without a termination message as lost.

    Args:
        flush: makes durable what has come in; called from this thread only.
    """

    def __init__(self, flush: Callable[[], None]) -> None:
        self._flush = flush
        self._wake = threading.Condition()
        self._requested = 0
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
            self._requested += 1
            self._wake.notify_all()
            return self._requested

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
                        lambda: self._ending or self._requested > self._durable, FLUSH_SECONDS
                    )
                    ticket = self._requested
                self._flush()
                with self._wake:
                    self._durable = ticket
                    self._wake.notify_all()
        except Exception:
            log.exception(
                "the evidence cannot be written; ending this pod, because traffic without a "
                "ledger proves nothing. Check the free space and the permissions of the claim, or "
                "the object store, in spec.evidence"
            )
            logging.shutdown()
            os._exit(1)
