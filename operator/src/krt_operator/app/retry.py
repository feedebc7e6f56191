"""How a failed pass over a test is retried."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import tenacity

from krt_operator.errors import KrtError, TransientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from krt_operator.app.metrics import Metrics

_LOG = logging.getLogger("krt")

FIRST_RETRY: Final = 1.0
LAST_RETRY: Final = 15.0
"""Seconds between passes after failures, at most: doubled from first to last. Each pause is between
half of that and all of it, so that tests do not all return to an API server at the same time."""

BACKOFF: Final = tenacity.wait_exponential(
    multiplier=FIRST_RETRY / 2, max=LAST_RETRY / 2
) + tenacity.wait_random_exponential(multiplier=FIRST_RETRY / 2, max=LAST_RETRY / 2)

LONGEST_RETRY_AFTER: Final = 60.0
"""Seconds for which a server may ask to be left alone; deadlines are looked at after that."""


def _pause(state: tenacity.RetryCallState) -> float:
    """The growing pause, or the longer one that the server asked for (HTTP 429, 503)."""
    error = None if state.outcome is None else state.outcome.exception()
    asked = error.retry_after if isinstance(error, TransientError) else 0.0
    return max(BACKOFF(state), min(asked, LONGEST_RETRY_AFTER))


def retrying(
    test: str, metrics: Metrics, *, stopped: Callable[[], bool], sleep: Callable[[float], Any]
) -> tenacity.AsyncRetrying:
    """What repeats a pass until it succeeds or the daemon is stopped; the call then returns None.

    Every exception is retried: a defect must not end a test, because a fixed release can go on
    with it.

    Args:
        test: `namespace/name`, for the log.
        metrics: counts the failures.
        stopped: whether the daemon is to end.
        sleep: waits for so many seconds, or until the daemon is to end.
    """

    def report(state: tenacity.RetryCallState) -> None:
        error = None if state.outcome is None else state.outcome.exception()
        if error is None:
            return
        metrics.failed(error)
        pause = state.upcoming_sleep
        if isinstance(error, KrtError):
            # The test says the same in its condition Reconciling, with the remedy.
            _LOG.warning("%s: %s; next try in %.0f s", test, error, pause)
        else:
            _LOG.error("%s: next try in %.0f s", test, pause, exc_info=error)

    async def pause(seconds: float) -> None:
        waiting: Awaitable[Any] = sleep(seconds)
        await waiting

    return tenacity.AsyncRetrying(
        wait=_pause,
        stop=lambda _: stopped(),
        sleep=pause,
        before_sleep=report,
        retry_error_callback=lambda _: None,
    )
