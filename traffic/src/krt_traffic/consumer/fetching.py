"""Which broker each owned partition is fetched from, by the client's statistics.

Only where the client has a rack: a consumer without one always reads from the leader, and
statistics cost it a document of JSON a second.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_contract.outcomes import ConsumerEvent
from krt_contract.settings import CLIENT_RACK

if TYPE_CHECKING:
    from krt_traffic.consumer.event_buffer import EventBuffer

INTERVAL_MILLIS = 1000
"""Between two statistics; a broker that was read from for less may be missed."""

ACTIVE = "active"


class Fetching:
    """Records an event whenever the broker of a partition changes.

    Args:
        buffer: where it is recorded.
    """

    def __init__(self, buffer: EventBuffer) -> None:
        self._buffer = buffer
        self._known: dict[tuple[str, int], int] = {}

    def settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the client's settings with statistics where it has a rack."""
        if not settings.get(CLIENT_RACK):
            return settings
        return settings | {"statistics.interval.ms": INTERVAL_MILLIS, "stats_cb": self.take}

    def take(self, statistics: str) -> None:
        """Take one document of the client's statistics; called from its poll."""
        for topic in json.loads(statistics).get("topics", {}).values():
            for found in topic["partitions"].values():
                partition, broker = int(found["partition"]), int(found["broker"])
                key = (str(topic["topic"]), partition)
                if found["fetch_state"] != ACTIVE or broker < 0:
                    continue
                if self._known.get(key) == broker:
                    continue
                self._known[key] = broker
                detail = json.dumps({"broker": broker, "leader": int(found["leader"])})
                self._buffer.event(ConsumerEvent.FETCHING, *key, detail=detail)
