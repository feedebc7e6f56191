"""Follows the metadata log from controller to controller, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from itertools import cycle
from typing import TYPE_CHECKING

from krt_contract.metadata_log.fold import Fold
from krt_contract.timeline import METADATA_LOG
from krt_traffic.clock import mono, wall
from krt_traffic.recorder.metadata_log.fetch import NONE, fetch
from krt_traffic.recorder.metadata_log.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krt_contract.kafka_connection import Connection
    from krt_contract.kafka_connector import Connect
    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.metadata_log.fetch import Answer
    from krt_traffic.recorder.metadata_log.store import LogStore
    from krt_traffic.recorder.timeline import Timeline

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.2
"""Between two attempts while no controller leads."""

CATCH_UP_SECONDS = 5.0
"""How long the end waits for what was committed until then: a new leader is there after 2 s."""


class Follower:
    """Reads what is committed, once and in order, into the bundle and onto the timeline.

    Args:
        controllers: node id → ``host:port`` of its controller listener.
        cluster: the cluster's id.
        store: where records go.
        timeline: where their events go.
        failures: starts the thread.
        features: takes the finalized features and their levels, whenever they are others.
        connect: connects to a controller.
    """

    def __init__(  # noqa: PLR0913 (whom to read, where to write, and the recorder's services)
        self,
        controllers: Mapping[int, str],
        cluster: str,
        store: LogStore,
        timeline: Timeline,
        *,
        failures: Failures,
        features: Callable[[Mapping[str, int]], None],
        connect: Connect,
    ) -> None:
        self._controllers, self._cluster = dict(controllers), cluster
        self._connect, self._features = connect, features
        self._reported: dict[str, int] = {}
        self._store, self._timeline = store, timeline
        self._others = cycle(sorted(self._controllers))
        self._node, self._leader_epoch = next(self._others), 1
        self._connection: Connection | None = None
        self._refused: tuple[int, int, int, int] | None = None
        self._fold = Fold()
        for record in store.known:
            self._fold.apply(record)
        self._progress = Progress.after(store.known)
        self._started = wall()
        self._last_commit: tuple[int, int] | None = None
        self._stopping, self._caught_up = threading.Event(), threading.Event()
        self._ended = threading.Event()
        self._thread = failures.thread(self._run, "metadata log")

    def start(self) -> None:
        """Begin; returns at once, whether a controller is there or not."""
        self._started = wall()
        self._thread.start()

    def stop(self) -> None:
        """End once all that is committed by now was read.

        Raises:
            RecordingError: it could not be read, and that could not be recorded.
        """
        self._stopping.set()
        if not self._caught_up.wait(CATCH_UP_SECONDS):
            since = self._last_commit[1] if self._last_commit else self._started
            self._timeline.gap(METADATA_LOG, since, wall(), at_end=True)
        self._ended.set()
        if connection := self._connection:
            connection.close()
        self._thread.join(timeout=CATCH_UP_SECONDS)
        self._store.close()

    def silence(self) -> tuple[int, int] | None:
        """Return for how long nothing was committed, in µs, and when something last was, UTC µs.

        None before the first record: a quorum that was never there is not lost.
        """
        if self._last_commit is None:
            return None
        then, at = self._last_commit
        return mono() - then, at

    def _run(self) -> None:
        while not self._ended.is_set():
            stopping = self._stopping.is_set()
            try:
                if self._step() and stopping:
                    self._caught_up.set()
                    return
            except OSError as error:
                if self._ended.is_set():
                    return
                log.debug("controller %d: %r", self._node, error)
                self._leave(next(self._others))
                self._ended.wait(RETRY_SECONDS)

    def _step(self) -> bool:
        """Fetch once; return whether all that was committed before has been taken."""
        self._connection = self._connection or self._connect(self._controllers[self._node])
        answer = fetch(self._connection, self._progress.position, self._leader_epoch, self._cluster)
        if answer.error != NONE:
            self._redirect(answer)
            return False
        self._leader_epoch = max(answer.leader_epoch, self._leader_epoch)
        records = self._progress.take(answer)
        if records:
            self._store.append(records)
            for record in records:
                for event in self._fold.apply(record):
                    self._timeline.write(
                        event.source, event.event, event.subject, event.detail, at=event.at
                    )
            self._last_commit = mono(), wall()
            if self._fold.features != self._reported:
                self._reported = dict(self._fold.features)
                self._features(self._reported)
        return self._progress.reached(answer)

    def _redirect(self, answer: Answer) -> None:
        """Go to the leader that a controller names, or to another that may know it."""
        refused = (self._node, answer.error, answer.leader, answer.leader_epoch)
        if refused != self._refused:
            self._refused = refused
            log.info("controller %d: error %d, leader %d in epoch %d", *refused)
        newer = answer.leader_epoch > self._leader_epoch
        self._leader_epoch = max(answer.leader_epoch, 1)
        if answer.leader not in self._controllers:
            self._leave(next(self._others))
        elif answer.leader != self._node:
            self._leave(answer.leader)
            return
        self._progress.drop_pending()
        # Where only the epoch was another than the one asked for, the next fetch is answered.
        if not newer:
            self._ended.wait(RETRY_SECONDS)

    def _leave(self, node: int) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._progress.drop_pending()
        self._node = node
