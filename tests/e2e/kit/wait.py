"""The one way to wait: on a condition, with a deadline and a sentence for when it passes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Found = TypeVar("Found")

POLL_SECONDS = 0.5
"""Between two looks; kubectl itself takes 0.1 s of a core, and a core is half the machine."""


def until(
    look: Callable[[], Found | None], within: float, saying: str | Callable[[], str]
) -> Found:
    """Return the first truthy result of ``look``.

    Args:
        look: observes without changing anything; None or False means not yet.
        within: seconds until it is given up.
        saying: what had been expected, or a function that says how things stand.

    Raises:
        AssertionError: the deadline passed.
    """
    deadline = time.monotonic() + within
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            told = saying() if callable(saying) else saying
            raise AssertionError(f"not within {within:.0f} s: {told}")
        time.sleep(POLL_SECONDS)
