"""Which KRaft controller leads the quorum, asked of brokers, and whether they reach one at all."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from krt_contract.timeline import EventName, Source
from krt_traffic.clock import wall
from krt_traffic.recorder.metadata_log.quorum import SILENT_MICROS, describe_quorum
from krt_traffic.recorder.periodic import Periodic
from krt_traffic.recorder.polling.fold import FROM
from krt_traffic.recorder.polling.requests import NO_ANSWER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from krt_contract.kafka_connector import Connect
    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.timeline import Timeline

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 1.0
"""Each request is forwarded to the active controller. A dead one is replaced after 2 s."""

VERSION = 0
"""Of DescribeQuorum: the first one, which every release that has KRaft knows."""

STOP_SECONDS = 3.0
"""How long the end waits for a broker's answer, which may take 2 s."""


class QuorumPoll:
    """Records each leader of the quorum, and the loss of it, in a thread of its own.

    Args:
        brokers: returns ``host:port`` of those to ask.
        heard: returns when a broker last answered anything, UTC µs.
        timeline: where events go.
        failures: starts the thread.
        connect: connects to a broker.
    """

    def __init__(
        self,
        brokers: Callable[[], Sequence[str]],
        heard: Callable[[], int],
        timeline: Timeline,
        failures: Failures,
        connect: Connect,
    ) -> None:
        self._brokers, self._heard, self._timeline = brokers, heard, timeline
        self._connect = connect
        self._leader: tuple[int, int] | None = None
        self._known_at = 0
        self._lost = False
        self._periodic = Periodic(self.look, INTERVAL_SECONDS, "quorum", failures)

    def start(self) -> None:
        """Begin; returns at once."""
        self._periodic.start()

    def stop(self) -> None:
        """End."""
        self._periodic.stop(STOP_SECONDS)

    def look(self) -> None:
        """Ask once, and record what changed."""
        asked = wall()
        found = self._ask()
        if found is not None:
            self._take(found, asked)
        elif self._leader and not self._lost and asked - self._known_at >= SILENT_MICROS:
            # Brokers that answer nothing at all say nothing about the quorum.
            self._lost = self._heard() > self._known_at and not self._periodic.stopping
            if self._lost:
                self._write(EventName.QUORUM_LOST, "", {"since": self._known_at})

    def _ask(self) -> tuple[int, int] | None:
        for broker in self._brokers():
            if self._periodic.stopping:
                return None
            try:
                if found := describe_quorum(broker, self._connect, VERSION):
                    return found
            except NO_ANSWER as error:
                log.debug("quorum, asked of %s: %r", broker, error)
        return None

    def _take(self, found: tuple[int, int], asked: int) -> None:
        node, epoch = found
        # A broker that was cut off may name an older leader.
        if self._leader is None or epoch > self._leader[1]:
            since = {"unchanged_until": self._known_at} if self._leader else {}
            self._write(EventName.ELECTED, str(node), {"epoch": epoch, **since})
            self._leader = found
        self._known_at, self._lost = asked, False

    def _write(self, event: EventName, subject: str, detail: dict[str, Any]) -> None:
        self._timeline.write(Source.CONTROLLER, event, subject, {**detail, "from": FROM})
