"""Logging the client's errors without filling the log while a broker is unavailable."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from krt_traffic.clock import mono

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

log = logging.getLogger(__name__)

QUIET_MICROS = 5_000_000
"""Microseconds for which an error of the same code is only counted: the client retries a lost
broker ten times a second, and logging that would cost more CPU than the traffic."""

CLIENT_LOG_LEVEL = 2
"""librdkafka's own log from critical on: its errors arrive as callbacks, too."""


class ErrorThrottle:
    """Logs each code's first error, then one in QUIET_MICROS with the number that was left out."""

    def __init__(self) -> None:
        self._logged_at: dict[int, int] = {}
        self._left_out: dict[int, int] = {}

    def log(self, error: KafkaError) -> None:
        """Log an error of the client, or count it."""
        code, now = error.code(), mono()
        if code in self._logged_at and now - self._logged_at[code] < QUIET_MICROS:
            self._left_out[code] = self._left_out.get(code, 0) + 1
            return
        self._logged_at[code] = now
        log.warning(
            "Kafka client: %s (%d more of this kind since the last line)",
            error,
            self._left_out.pop(code, 0),
        )
