"""The life of one consumer incarnation."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, Message

from krt_contract.clients import Commit
from krt_contract.control import ControlState
from krt_contract.outcomes import ConsumerEvent
from krt_traffic import termination
from krt_traffic.consumer.assignment import Assignment
from krt_traffic.consumer.commits import Commits
from krt_traffic.consumer.drain import Drain
from krt_traffic.consumer.event_buffer import Journal
from krt_traffic.consumer.fetching import Fetching
from krt_traffic.consumer.positions import partition_of, place_of
from krt_traffic.consumer.settings import client_settings, cooperative
from krt_traffic.consumer.transform import Transform
from krt_traffic.error_throttle import Complaints
from krt_traffic.errors import (
    EXIT_BEHIND,
    EXIT_DONE,
    EXIT_FATAL,
    FatalClientError,
)
from krt_traffic.ledger import LedgerThread, Rolling, writer
from krt_traffic.plan import find_consumer

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.plan import Plan
    from krt_traffic.consumer.positions import Positions
    from krt_traffic.control import Control
    from krt_traffic.environment import Environment

log = logging.getLogger(__name__)

BATCH = 500
"""Records of one poll at most, as Kafka's own consumer has it (max.poll.records)."""

IDLE_SECONDS = 0.1
"""How long a poll waits for a first record before orders and commits are looked at."""


class ConsumerRun:
    """One incarnation from its first order to its termination message.

    Args:
        environment: who this pod is.
        plan: the run.
        control: orders.
    """

    def __init__(self, environment: Environment, plan: Plan, control: Control) -> None:
        self._environment, self._plan, self._control = environment, plan, control
        self._entry = entry = find_consumer(plan, environment.name)
        member, incarnation = environment.member, environment.pod_uid
        folder = environment.evidence / plan.bundle
        self._deliveries = Rolling(writer(folder, "consume", member, incarnation))
        self._events = Rolling(writer(folder, "consumer_events", member, incarnation))
        self._journal = Journal(
            member,
            incarnation,
            entry.group,
            processes_at_once=entry.commit is not Commit.BEFORE_PROCESSING,
        )
        self._ledger = LedgerThread(self._flush)
        self._transform = self._transforming((member, incarnation), folder)
        self._commits: Positions = self._transform or Commits(
            self._journal, self._ledger, entry.commit
        )
        settings = Fetching(self._journal).settings(client_settings(plan, entry, member))
        self._assignment = Assignment(
            self._journal,
            self._commits,
            cooperative=cooperative(settings),
            given_up=control.aborted_within,
        )
        self._fatal: KafkaError | None = None
        self._complaints = Complaints()
        self._client = Consumer(
            settings | {"error_cb": self._error, "on_commit": self._commits.answered}, logger=log
        )
        self._commits.client = self._assignment.client = self._client
        if self._transform is not None:
            self._transform.seek = self._assignment.seek
        self._drain: Drain | None = None

    def run(self) -> int:
        """Consume until told to stop and return the exit status."""
        self._ledger.start()
        error: str | None = None
        try:
            self._control.first()
            if self._transform is None or self._transform.start():
                self._client.subscribe(
                    list(self._entry.topics),
                    on_assign=self._assignment.assigned,
                    on_revoke=self._assignment.revoked,
                    on_lost=self._assignment.lost,
                )
            reason, error = self._consume()
        except FatalClientError as fatal:
            reason, error = "fatal", str(fatal)
            log.error("the client is over: %s", error)  # noqa: TRY400 - no defect of ours to trace
        positions = dict(self._commits.positions)
        self._assignment.leave()
        self._journal.event(ConsumerEvent.CLOSED, detail=reason)
        self._end(reason, error, positions)
        return self._status(reason)

    def _consume(self) -> tuple[str, str | None]:
        while True:
            if self._control.terminated:
                return "terminated", None
            order = self._control.first()
            if order.state in (ControlState.ABORT, ControlState.DONE):
                return "aborted", None
            self._poll()
            if self._fatal is not None:
                raise FatalClientError(f"{self._fatal.name()}: {self._fatal.str()}")
            self._assignment.mend()
            self._commits.step()
            if order.state not in self._drained_in:
                continue
            if self._drain is None:
                self._drain = self._begin_drain(order.end_offsets)
            if self._drain.done():
                for partition, position in self._commits.positions.items():
                    self._journal.event(ConsumerEvent.DRAINED, *partition, position)
                return "drained", None
            if self._drain.overdue:
                return "behind", f"drain timed out: {self._drain.behind()}"

    def _status(self, reason: str) -> int:
        if reason == "fatal":
            return EXIT_FATAL
        # Whatever ended it, who was told where the end is has done what it was asked to only there.
        behind = self._drain is not None and reason != "drained"
        return EXIT_BEHIND if behind else EXIT_DONE

    @property
    def _drained_in(self) -> tuple[ControlState, ...]:
        # One that transforms ends before those who read what it writes are told their ends.
        if self._transform is None:
            return (ControlState.DRAIN,)
        return (ControlState.DRAIN_TRANSFORMS, ControlState.DRAIN)

    def _begin_drain(self, ends: dict[str, dict[int, int]]) -> Drain:
        wanted = {
            (topic, partition): end
            for topic in self._entry.topics
            for partition, end in ends.get(topic, {}).items()
        }
        log.info("draining to %s", wanted)
        return Drain(
            self._client, self._commits, self._assignment, wanted, self._plan.drain_timeout.seconds
        )

    def _poll(self) -> None:
        """Hand out what is there, at most BATCH records and of one ownership."""
        message = self._next(IDLE_SECONDS)
        ownership = self._assignment.changes
        self._journal.poll += 1
        position = 0
        while message is not None:
            if (error := message.error()) is None:
                self._commits.hand(message, position)
                position += 1
            else:
                self._trouble(message, error)
            if position >= BATCH or ownership != self._assignment.changes or self._commits.full:
                return
            message = self._next(0)
            if ownership != self._assignment.changes:
                ownership = self._assignment.changes
                self._journal.poll += 1
                position = 0

    def _next(self, seconds: float) -> Message | None:
        try:
            return self._client.poll(seconds)
        except KafkaException as exception:
            # The client raises a fatal error from poll() instead of calling error_cb with it.
            error = exception.args[0]
            if not error.fatal():
                raise
            raise FatalClientError(f"{error.name()}: {error.str()}") from exception

    def _trouble(self, message: Message, error: KafkaError) -> None:
        code = error.code()
        if code == KafkaError._PARTITION_EOF:  # noqa: SLF001 - no public name
            topic, partition, offset = place_of(message)
            first = self._assignment.end_reached((topic, partition), offset)
            if first or self._drain is not None:
                self._journal.event(ConsumerEvent.EOF, topic, partition, offset)
        elif code == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001 - no public name
            self._assignment.broken(partition_of(message), error.str())
        elif error.fatal():
            self._fatal = error
        else:
            self._complaints.tell(error)

    def _error(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal = error
        self._complaints.tell(error)

    def _transforming(self, who: tuple[str, str], folder: Path) -> Transform | None:
        if self._entry.output is None:
            return None
        return Transform(
            self._journal,
            self._ledger,
            self._plan,
            self._entry.output,
            who,
            folder,
            given_up=lambda: self._control.aborted,
        )

    def _flush(self) -> None:
        # Events first: a delivery must never be durable without the assignment it came from.
        self._events.flush(self._journal.events())
        self._deliveries.flush(
            *self._journal.deliveries(), roll=self._transform is None or not self._transform.ending
        )
        if self._transform is not None:
            self._transform.flush()

    def _end(self, reason: str, error: str | None, positions: dict[tuple[str, int], int]) -> None:
        counts = {"delivered": self._journal.delivered, "committed": self._commits.succeeded}
        if self._transform is not None:
            counts |= self._transform.finish()
        self._ledger.stop()
        self._events.close(self._journal.events())
        self._deliveries.close(self._journal.deliveries()[0])
        if self._transform is not None:
            self._transform.close()
        text = termination.message(
            "consumer",
            counts,
            reason=reason,
            positions={f"{topic}-{number}": at for (topic, number), at in positions.items()},
            error=error,
        )
        termination.write(self._environment.termination_log, text)
        log.info("%s", text)
