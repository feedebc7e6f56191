"""Taking no more records than the ledger can keep."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from krt_traffic.ledger_thread import WAITING_ROWS

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from krt_traffic.consumer.event_buffer import EventBuffer

log = logging.getLogger(__name__)


class Throttle:
    """Pauses a consumer while too many rows wait for an evidence store that is unavailable.

    It stays a member of its group: it polls on, and gets nothing. A partition that is assigned
    meanwhile is paused at the next step.

    Args:
        client: the consumer.
        buffer: where rows wait.
    """

    def __init__(self, client: Consumer, buffer: EventBuffer) -> None:
        self._client, self._buffer = client, buffer
        self._paused = False

    def step(self) -> None:
        """Pause or resume; called before each poll."""
        behind = self._buffer.waiting > WAITING_ROWS
        if behind:
            if not self._paused:
                log.warning("%d rows wait for the evidence store: paused", self._buffer.waiting)
            self._client.pause(self._client.assignment())
        elif self._paused:
            self._client.resume(self._client.assignment())
        self._paused = behind
