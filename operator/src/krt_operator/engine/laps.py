"""How long the parts of a pass took, for the log."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from krt_operator.engine.ports import Clock

SLOW: Final = timedelta(seconds=5)
"""From when on a pass is slow: two like it make a fault late that falls due meanwhile."""

SHOWN: Final = timedelta(seconds=0.1)
"""From when on a part is named: the last digit of what is printed."""


class Laps:
    """The parts of one pass, from now on.

    Args:
        clock: what the pass is timed by.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun = self._last = clock.now()
        self._parts: list[tuple[str, timedelta]] = []

    def end(self, part: str) -> None:
        """End a part of the pass, which began when the one before it ended."""
        now = self._clock.now()
        self._parts.append((part, now - self._last))
        self._last = now

    def slow(self) -> str:
        """How long the pass has taken, and which part of it how long; empty if it was not slow."""
        now = self._clock.now()
        total = now - self._begun
        if total < SLOW:
            return ""
        # A pass that failed did so in a part that has not ended.
        parts = [*self._parts, ("until it failed", now - self._last)]
        named = [f"{part} {took.total_seconds():.1f} s" for part, took in parts if took >= SHOWN]
        return f"{total.total_seconds():.1f} s ({', '.join(named)})"
