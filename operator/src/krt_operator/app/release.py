"""The deletion of what a deleted test has on a cluster that somebody else runs, try by try."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from krt_operator.engine.progress import Event
from krt_operator.errors import KrtError

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG = logging.getLogger("krt")

REASON: Final = "KafkaObjectsRemain"


def try_to_release(test: str, release: Callable[[], str], emit: Callable[[Event], None]) -> str:
    """Make one try, and report on the test why it failed.

    Args:
        test: the test, as the log names it.
        release: deletes what can be deleted, and returns what it waits for.
        emit: creates an event on the test; the same one twice is one event.

    Returns:
        What is waited for, or why the try failed; empty where nothing is left.
    """
    try:
        return release()
    except KrtError as error:
        cause = f"{type(error).__name__}: {error}"
    message = f"topics or groups of the test are still on the Kafka cluster: {cause}"
    try:
        emit(Event(REASON, message, warning=True))
    except KrtError as error:
        # No event can be created in a namespace that is being deleted.
        _LOG.warning("%s: event %s: %s", test, REASON, error)
    return cause
