"""The two clocks that every event is stamped with."""

from __future__ import annotations

import time


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
