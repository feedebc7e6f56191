"""Taking no more records than the ledger can keep."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from krt_traffic.backlog import Backlog

log = logging.getLogger(__name__)


class Throttle:
    """Pauses a consumer while too much waits for the ledger.

    It stays a member of its group: it polls on, and gets nothing. A partition that is assigned
    meanwhile is paused at the next step.

    Args:
        client: the consumer.
        backlog: of the rows that wait.
    """

    def __init__(self, client: Consumer, backlog: Backlog) -> None:
        self._client, self._backlog = client, backlog
        self._paused = False

    def step(self) -> None:
        """Pause or resume; called before each poll."""
        behind = self._backlog.relieve()
        if behind:
            if not self._paused:
                log.info("paused: what was delivered waits for the ledger")
            self._client.pause(self._client.assignment())
        elif self._paused:
            self._client.resume(self._client.assignment())
        self._paused = behind
