"""Writing to a store that may be unavailable for a while."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, TypeVar

from krt_contract.stores.store import KeyExistsError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krt_contract.stores.store import Store

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5
"""Between two tries: as often as ledgers are written anyway."""

Result = TypeVar("Result")


class Patience:
    """Tries until the store has taken what it was given.

    Several threads may use it at once. What waits meanwhile is the callers' to bound.

    Args:
        store: where to.
        report: called once for each time that the store was unavailable, when it is available
            again, with start and end in UTC microseconds.
    """

    def __init__(self, store: Store, report: Callable[[int, int], None]) -> None:
        self._store, self._report = store, report
        self._lock = threading.Lock()
        self._since: int | None = None

    @property
    def unavailable_since(self) -> int | None:
        """Since when (UTC microseconds) the store has not answered; None while it does."""
        return self._since

    def put(self, keys: Iterator[str], data: bytes) -> str:
        """Put ``data`` under the first of ``keys`` that the store acknowledges; return that key.

        Each try takes another key: one that was given up may land later.
        """

        def attempt() -> str:
            for key in keys:
                try:
                    self._store.put(key, data)
                except KeyExistsError:
                    continue
                return key
            raise RuntimeError("the generations of a key never end")

        return self.until_done(attempt)

    def until_done(self, action: Callable[[], Result]) -> Result:
        """Do ``action`` until the store does not fail it, and return its result."""
        while True:
            started = time.time_ns() // 1000
            try:
                result = action()
            except StoreError as error:
                self._failed(started, error)
                time.sleep(RETRY_SECONDS)
            else:
                self._succeeded()
                return result

    def _failed(self, started: int, error: StoreError) -> None:
        with self._lock:
            first = self._since is None
            if self._since is None:
                self._since = started
        if first:
            log.warning("waiting for the evidence store: %s", error)

    def _succeeded(self) -> None:
        with self._lock:
            since, self._since = self._since, None
        if since is not None:
            now = time.time_ns() // 1000
            log.warning("the evidence store is available again after %d ms", (now - since) // 1000)
            self._report(since, now)
