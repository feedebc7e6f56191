"""Simulated time, and chance that does not depend on what else happens.

Chance is drawn by name, not from a stream: a defect that changes one thing leaves every other
draw as it was, so that a history with the defect differs from the one without by the defect's
consequences alone.
"""

from __future__ import annotations

import heapq
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MS = 1_000
SECOND = 1_000_000
"""Microseconds, as in the evidence."""


class Engine:
    """A clock that jumps from event to event.

    Args:
        seed: decides every draw.

    Attributes:
        now: µs since the run began.
    """

    def __init__(self, seed: int) -> None:
        self.now = 0
        self._seed = seed
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def after(self, delay: int, act: Callable[[], None]) -> None:
        """Do something ``delay`` µs from now; what is due at one instant is done in order."""
        self._count += 1
        heapq.heappush(self._due, (self.now + max(0, delay), self._count, act))

    def every(self, period: int, act: Callable[[], bool]) -> None:
        """Do something each ``period`` µs until it returns False."""

        def again() -> None:
            if act():
                self.after(period, again)

        self.after(period, again)

    def run(self, until: int) -> None:
        """Let time pass."""
        while self._due and self._due[0][0] <= until:
            self.now, _, act = heapq.heappop(self._due)
            act()
        self.now = until

    def draw(self, *name: object) -> float:
        """Return a number in [0, 1) that belongs to this seed and name."""
        text = repr((self._seed, *name)).encode()
        return int.from_bytes(blake2b(text, digest_size=7).digest(), "big") / (1 << 56)

    def between(self, low: int, high: int, *name: object) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return low + int(self.draw(*name) * (high - low + 1))

    def choose(self, items: list[T], *name: object) -> T:
        """Return one of the items."""
        return items[self.between(0, len(items) - 1, *name)]
