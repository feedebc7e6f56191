"""The two clocks that every event is stamped with."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND_MICROS = 1_000_000
"""Microseconds in a second."""


def wall() -> int:
    """Return UTC microseconds since the epoch."""
    return time.time_ns() // 1000


def mono() -> int:
    """Return microseconds of CLOCK_MONOTONIC, one clock for all pods of a host."""
    return time.monotonic_ns() // 1000


TOGETHER_NS = 100_000
"""Nanoseconds within which both clocks are read; unhindered it takes less than one thousandth."""

TRIES = 16
"""Readings until the last is taken as it is: no thread is interrupted that often on a machine that
works."""


def both() -> tuple[int, int]:
    """Return ``wall()`` and ``mono()`` of one moment.

    A thread that loses its core between the two readings would return two moments, some
    milliseconds apart on a busy machine, which looks like a clock that was set: it reads again.
    """
    before = time.monotonic_ns()
    for _ in range(TRIES):
        at = time.time_ns()
        after = time.monotonic_ns()
        if after - before <= TOGETHER_NS:
            break
        before = after
    return at // 1000, before // 1000


REREAD_MICROS = 1_000
"""Microseconds for which ``EventClock`` takes the distance of the clocks as it was. A clock that is
set shows this much later: a tenth of what scoring always tolerates (10 ms)."""


class EventClock:
    """Stamps events that come by the thousand: as ``both()``, at a third of its price.

    The wall time of an event is the monotonic one, and the distance of the two clocks as it was
    read within the last ``REREAD_MICROS``.

    Not thread-safe.

    Attributes:
        shared: the stamp of all events that are there at once, from the first on; None where each
            has its own.
    """

    def __init__(self) -> None:
        self.shared: tuple[int, int] | None = None
        self._sharing = False
        self._ahead = 0
        self._reread_at = 0

    def both(self) -> tuple[int, int]:
        """Return ``wall()`` and ``mono()`` of now."""
        now = time.monotonic_ns() // 1000
        if now < self._reread_at:
            at = now + self._ahead
        else:
            at, now = both()
            self._ahead, self._reread_at = at - now, now + REREAD_MICROS
        if self._sharing:
            self.shared = at, now
        return at, now

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Give all events of the block the time of the first: the others were there with it."""
        self._sharing = True
        try:
            yield
        finally:
            self._sharing, self.shared = False, None
