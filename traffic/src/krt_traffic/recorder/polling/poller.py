"""Polls brokers, each in a thread of its own, and writes what changed onto the timeline."""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import TYPE_CHECKING

from krt_contract.timeline import POLLING
from krt_traffic.clock import mono, wall
from krt_traffic.recorder.polling.requests import NO_ANSWER, BrokerRequests
from krt_traffic.recorder.polling.view import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from krt_contract.kafka_connector import Connect
    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.polling.fold import Fold
    from krt_traffic.recorder.polling.view import Broker, View
    from krt_traffic.recorder.timeline import Timeline

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 0.25
"""Between two polls of a broker. It bounds how exactly the time of an election is known; that there
was one, its epoch shows however close the next one is. A quarter of the second by which clocks may
differ anyway; docs/decisions/0027 has the price."""

MOST_BROKERS = 8
"""Brokers that are polled. Each knows the whole cluster, and the load is on a cluster of somebody
else's; a majority of eight is there through a rolling restart."""

BOOTSTRAP_SECONDS = 1.0
"""Between two looks for brokers to poll: until there are some, and for those that come later."""

STOP_SECONDS = 3.0
"""How long the end waits for a last answer: a broker that gives none has 2 s."""


class Poller:
    """Polls until it is stopped.

    Args:
        bootstrap: ``host:port`` of the servers that are asked first.
        topics: whose partitions are followed.
        fold: takes the answers.
        timeline: where events go.
        failures: starts the threads.
        version: takes the version of Kafka that a broker shows.
        features: takes the finalized features and their levels, as a broker reports them.
        connect: connects to a broker.
    """

    def __init__(  # noqa: PLR0913 (what is asked, and where it goes)
        self,
        bootstrap: Sequence[str],
        topics: Sequence[str],
        fold: Fold,
        timeline: Timeline,
        *,
        failures: Failures,
        version: Callable[[str], None],
        features: Callable[[Mapping[str, int]], None],
        connect: Connect,
    ) -> None:
        self._bootstrap, self._topics = tuple(bootstrap), tuple(topics)
        self._fold, self._timeline, self._failures = fold, timeline, failures
        self._version, self._features, self._connect = version, features, connect
        self._lock = threading.Lock()
        self._stopping, self._ended = threading.Event(), threading.Event()
        self._last_answer = threading.Event()
        self._stopped_at = 0
        self._heard = 0
        self._addresses: dict[int, str] = {}
        self._threads: list[threading.Thread] = []
        self._search = failures.thread(self._find_brokers, "polling")

    def start(self) -> None:
        """Begin; returns at once, whether a broker is there or not."""
        self._heard = wall()
        self._search.start()

    def stop(self) -> None:
        """End once a broker was asked after all that happened until now.

        Raises:
            RecordingError: that none answered could not be recorded.
        """
        self._stopped_at = wall()
        self._stopping.set()
        if not self._last_answer.wait(STOP_SECONDS):
            self._timeline.gap(POLLING, self._heard, wall(), at_end=True)
        self._ended.set()
        self._search.join(timeout=STOP_SECONDS)
        for thread in self._threads:
            thread.join(timeout=STOP_SECONDS)

    def addresses(self) -> list[str]:
        """Return ``host:port`` of the brokers that are polled; the bootstrap servers before."""
        with self._lock:
            return list(self._addresses.values()) or list(self._bootstrap)

    def heard(self) -> int:
        """Return when a broker was last asked that answered, UTC µs."""
        return self._heard

    def _find_brokers(self) -> None:
        """Poll each broker that the cluster names, as far as ``MOST_BROKERS`` allows."""
        while not self._ended.is_set():
            if not self._addresses:
                self._ask_bootstrap()
            with self._lock:
                self._add(self._fold.live)
            self._ended.wait(BOOTSTRAP_SECONDS)

    def _ask_bootstrap(self) -> None:
        for address in self._bootstrap:
            requests = BrokerRequests(UNKNOWN, address, self._connect)
            try:
                view = requests.ask(())
            except NO_ANSWER as error:
                log.info("bootstrap server %s: %r", address, error)
                continue
            if not view.brokers:
                # It has started and not heard of its cluster: features would be missing, too.
                log.info("bootstrap server %s names no broker yet", address)
                requests.close()
                continue
            self._version(requests.version)
            self._report_features(requests)
            requests.close()
            with self._lock:
                self._add(view.brokers)
            return

    def _report_features(self, requests: BrokerRequests) -> None:
        try:
            features = requests.features()
        except NO_ANSWER as error:
            # Nothing is judged by them, so polling does not wait for them.
            log.info("features: %r", error)
        else:
            self._features(features)

    def _add(self, brokers: Mapping[int, Broker]) -> None:
        for broker, found in sorted(brokers.items()):
            known = broker in self._addresses
            if not known and len(self._addresses) >= MOST_BROKERS:
                continue
            self._addresses[broker] = found.address
            if not known:
                self._fold.asked.add(broker)
                name = f"polling broker {broker}"
                thread = self._failures.thread(partial(self._poll, broker), name)
                self._threads.append(thread)
                thread.start()

    def _poll(self, broker: int) -> None:
        address = self._addresses[broker]
        requests = BrokerRequests(broker, address, self._connect)
        while not self._ended.is_set():
            began = mono()
            if address != self._addresses[broker]:
                requests.close()
                address = self._addresses[broker]
                requests = BrokerRequests(broker, address, self._connect)
            try:
                self._take(requests.ask(self._topics))
            except NO_ANSWER as error:
                log.debug("broker %d at %s: %r", broker, address, error)
                with self._lock:
                    self._fold.drop(broker)
            self._ended.wait(max(0.0, INTERVAL_SECONDS - (mono() - began) / 1e6))
        requests.close()

    def _take(self, view: View) -> None:
        with self._lock:
            # What was asked before another answer came may tell less than that one did.
            self._timeline.gap(POLLING, self._heard, view.at)
            self._heard = max(view.asked, self._heard)
            for event in self._fold.take(view):
                self._timeline.write(
                    event.source, event.event, event.subject, event.detail, at=event.at
                )
            if self._stopping.is_set() and view.asked >= self._stopped_at:
                self._last_answer.set()
