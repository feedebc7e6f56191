"""Requests to the API server that are tried again: a server that is replaced comes back."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import httpx2
import tenacity
from lightkube.core.exceptions import ConfigError

if TYPE_CHECKING:
    from tenacity.stop import stop_base

FIRST_PAUSE, LAST_PAUSE = 0.5, 10.0
"""Seconds between two attempts, doubled from first to last; longer where the server asks for it."""

CONFLICT, TOO_MANY_REQUESTS, SERVER_ERROR = 409, 429, 500

FAILURES = (httpx2.HTTPError, ConfigError, OSError)
"""What a request may end with, tried again or not."""

_BACKOFF = tenacity.wait_exponential(multiplier=FIRST_PAUSE, max=LAST_PAUSE)


def retrying(log: logging.Logger, stop: stop_base = tenacity.stop_never) -> tenacity.Retrying:
    """Return what calls a function again while its error may pass, and raises the last one.

    Args:
        log: gets a warning before each pause.
        stop: when to give up.
    """
    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(_passing),
        wait=_pause,
        stop=stop,
        before_sleep=tenacity.before_sleep_log(log, logging.WARNING),
        reraise=True,
    )


def _passing(error: BaseException) -> bool:
    """Whether another attempt may succeed."""
    if isinstance(error, httpx2.HTTPStatusError):
        status = error.response.status_code
        return status in {CONFLICT, TOO_MANY_REQUESTS} or status >= SERVER_ERROR
    return isinstance(error, httpx2.TransportError | OSError)


def _pause(state: tenacity.RetryCallState) -> float:
    """Return the seconds to wait: the back-off, or what Retry-After asks for if that is longer."""
    error = None if state.outcome is None else state.outcome.exception()
    asked = "0"
    if isinstance(error, httpx2.HTTPStatusError):
        asked = error.response.headers.get("Retry-After", "0")
    return max(_BACKOFF(state), float(asked) if asked.isdecimal() else 0.0)
