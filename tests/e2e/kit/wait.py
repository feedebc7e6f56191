"""Waiting for a condition with a deadline, and a message for when it passes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Found = TypeVar("Found")

POLL_SECONDS = 0.5
"""Between two observations; kubectl itself takes 0.1 s of a core, of which there may be two."""


def wait_until(
    observe: Callable[[], Found | None], within: float, expected: str | Callable[[], str]
) -> Found:
    """Return the first truthy result of ``observe``.

    Args:
        observe: looks without changing anything; None or False means not yet.
        within: seconds until the wait is given up.
        expected: what was expected, or a function that adds the present state.

    Raises:
        AssertionError: the deadline passed.
    """
    deadline = time.monotonic() + within
    while True:
        found = observe()
        if found:
            return found
        if time.monotonic() > deadline:
            message = expected() if callable(expected) else expected
            raise AssertionError(f"not within {within:.0f} s: {message}")
        time.sleep(POLL_SECONDS)
