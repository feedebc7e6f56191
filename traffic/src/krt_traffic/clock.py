"""The two clocks every event is stamped with."""

from __future__ import annotations

import time


def wall() -> int:
    """Return UTC microseconds since the epoch."""
    return time.time_ns() // 1000


def mono() -> int:
    """Return microseconds of CLOCK_MONOTONIC, one clock for all pods of a host."""
    return time.monotonic_ns() // 1000
