"""Runs passes in threads, and knows which of them do not end.

Every call that a pass makes has a timeout. A library may wait for ever all the same, and a thread
cannot be ended: the test would never be looked at again, nor its deadline. So the liveness probe
fails, and the controller that is started instead continues by the journals.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

STUCK_SECONDS: Final = 120.0
"""After how long a pass counts as stuck: eight times what one takes at most."""

_T = TypeVar("_T")


class Passes:
    """The threads of the passes.

    Args:
        workers: how many passes run at the same time.
        clock: seconds that only grow.
    """

    def __init__(self, workers: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="pass")
        self._clock = clock
        self._began: dict[object, tuple[str, float]] = {}

    async def run(self, what: str, call: Callable[[], _T]) -> _T:
        """Make a call in a thread and return what it returns.

        Args:
            what: it is about, as the log and the probe name it.
            call: made as soon as a thread is free.

        Raises:
            Exception: what the call raised.
        """

        def timed() -> _T:
            key = object()
            self._began[key] = what, self._clock()
            try:
                return call()
            finally:
                del self._began[key]

        return await asyncio.get_running_loop().run_in_executor(self._pool, timed)

    def stuck(self) -> str:
        """Name what has not ended for too long, with its seconds; empty if nothing is stuck."""
        now = self._clock()
        late = [
            f"{what} for {now - began:.0f} s"
            for what, began in sorted(self._began.copy().values())
            if now - began > STUCK_SECONDS
        ]
        return ", ".join(late)

    async def end(self) -> None:
        """Wait for the calls in flight, and make no other."""
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)
