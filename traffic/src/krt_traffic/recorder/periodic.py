"""Work that the recorder repeats at an interval, in a thread of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_traffic.recorder.failures import Failures


class Periodic:
    """Repeats ``work`` until it is stopped.

    Args:
        work: what to repeat.
        interval: seconds before each time.
        name: of the thread.
        failures: starts the thread, and reports its exception.
    """

    def __init__(
        self, work: Callable[[], None], interval: float, name: str, failures: Failures
    ) -> None:
        self._work, self._interval = work, interval
        self._stop = threading.Event()
        self._thread = failures.thread(self._run, name)

    @property
    def stopping(self) -> bool:
        """Whether the end was asked for."""
        return self._stop.is_set()

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """End, and wait so many seconds for what is under way."""
        self._stop.set()
        self._thread.join(timeout=seconds)

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            self._work()
