"""Which broker each owned partition is read from, as the client's statistics tell.

Only where the client has a rack: a consumer without one always reads from the leader, and
statistics cost it a document a second.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_contract.outcomes import ConsumerEvent
from krt_contract.settings import CLIENT_RACK

if TYPE_CHECKING:
    from krt_traffic.consumer.event_buffer import Journal

INTERVAL_MILLIS = 1000
"""Between two statistics; a broker that was read from for less may not be told of."""

ACTIVE = "active"


class Fetching:
    """Notes an event whenever the broker of a partition changes.

    Args:
        journal: where it is noted.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
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
                place = (str(topic["topic"]), partition)
                if found["fetch_state"] != ACTIVE or broker < 0:
                    continue
                if self._known.get(place) == broker:
                    continue
                self._known[place] = broker
                detail = json.dumps({"broker": broker, "leader": int(found["leader"])})
                self._journal.event(ConsumerEvent.FETCHING, *place, detail=detail)
