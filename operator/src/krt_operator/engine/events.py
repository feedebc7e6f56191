"""The events of a test, and a queue that keeps those that the API server did not take."""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from krt_contract.labels import API_VERSION, KIND
from krt_operator.engine.remedies import with_remedy
from krt_operator.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from krt_operator.engine.progress import Event
    from krt_operator.engine.views import Json

_LOG = logging.getLogger("krt")

WAITING_EVENTS: Final = 64
"""Events that wait for the API server at most: a run emits fewer in all but for retries."""

ATTEMPTS: Final = 10
"""Attempts at an event, one per pass, until it is dropped: the log has every event anyway."""


class EventQueue:
    """Creates events in order; what the API server cannot take now is tried in the next pass.

    The queue is the only memory of the engine between passes. Events explain and decide nothing,
    so a controller that is killed may lose some.

    Args:
        emit: creates an event.
        failed: counts an event that could not be created.
    """

    def __init__(
        self, emit: Callable[[Json], None], failed: Callable[[BaseException], None]
    ) -> None:
        self._emit = emit
        self._failed = failed
        self._waiting: deque[Json] = deque(maxlen=WAITING_EVENTS)
        self._attempts = 0

    @property
    def waiting(self) -> bool:
        """Whether there are events that have not been created."""
        return bool(self._waiting)

    def add(self, event: Json) -> None:
        """Put an event at the end of the queue."""
        self._waiting.append(event)

    def flush(self) -> None:
        """Create the events that wait; stop where the API server cannot take one now."""
        while self._waiting:
            try:
                self._emit(self._waiting[0])
            except TransientError as error:
                self._failed(error)
                self._attempts += 1
                if self._attempts < ATTEMPTS:
                    _LOG.debug("event kept for the next pass: %s", error)
                    return
                self._drop(error)
            except Exception as error:  # noqa: BLE001 - an event must not stop a run
                self._failed(error)
                self._drop(error)
            else:
                self._waiting.popleft()
                self._attempts = 0

    def _drop(self, error: Exception) -> None:
        event = self._waiting.popleft()
        self._attempts = 0
        _LOG.warning("event %s dropped: %s", event["reason"], error)


def build_event(namespace: str, name: str, uid: str, event: Event, at: datetime) -> Json:
    """The event as the API server takes it.

    Its name is derived from its content, so that creating it twice is one event.
    """
    moment = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    message = with_remedy(event.reason, event.message)
    identity = hashlib.sha256(f"{uid} {moment} {event.reason} {message}".encode()).hexdigest()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{identity[:16]}", "namespace": namespace},
        "involvedObject": {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "namespace": namespace,
            "name": name,
            "uid": uid,
        },
        "reason": event.reason,
        "message": message,
        "type": "Warning" if event.warning else "Normal",
        "source": {"component": "krt-operator"},
        "reportingComponent": "krt-operator",
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
