"""The life of one consumer incarnation."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, Message

from krt_contract.clients import Commit
from krt_contract.control import ENDING, ControlState
from krt_contract.exits import TrafficExit
from krt_contract.outcomes import ConsumerEvent
from krt_traffic import termination
from krt_traffic.backlog import Backlog
from krt_traffic.client import consumer_field, make_consumer
from krt_traffic.consumer.assignment import Assignment
from krt_traffic.consumer.commits import Commits
from krt_traffic.consumer.drain import Drain
from krt_traffic.consumer.event_buffer import EventBuffer
from krt_traffic.consumer.fetching import Fetching
from krt_traffic.consumer.metrics import ConsumerMetrics, Lag
from krt_traffic.consumer.output import Output
from krt_traffic.consumer.positions import location_of, partition_of
from krt_traffic.consumer.settings import client_settings, cooperative
from krt_traffic.consumer.throttle import Throttle
from krt_traffic.consumer.transform import Transform
from krt_traffic.error_throttle import ErrorThrottle
from krt_traffic.errors import FatalClientError
from krt_traffic.evidence import open_sink, report_in_log
from krt_traffic.ledger_thread import LedgerThread
from krt_traffic.login import read_login
from krt_traffic.metrics.ledger import LedgerMetrics
from krt_traffic.plan import find_consumer
from krt_traffic.rolling_writer import RollingWriter

if TYPE_CHECKING:
    from krt_contract.kafka_login import Login
    from krt_contract.plan import Plan
    from krt_contract.sinks.sink import Sink
    from krt_traffic.consumer.positions import Positions
    from krt_traffic.control import Control
    from krt_traffic.environment import Environment
    from krt_traffic.metrics.families import Source

log = logging.getLogger(__name__)

BATCH = 500
"""Records of one poll at most, as Kafka's own consumer has it (max.poll.records)."""

IDLE_SECONDS = 0.1
"""How long a poll waits for a first record before instructions and commits have their turn."""


class ConsumerRun:
    """One incarnation from its first instruction to its termination message.

    Args:
        environment: identity and folders of this pod.
        plan: the run.
        control: the controller's instructions.
    """

    def __init__(self, environment: Environment, plan: Plan, control: Control) -> None:
        self._environment, self._plan, self._control = environment, plan, control
        self._entry = entry = find_consumer(plan, environment.name)
        member, incarnation = environment.member, environment.pod_uid
        login = read_login(environment, plan)
        sink = open_sink(environment, plan, report_in_log(member))
        stem = f"{member}-{incarnation}"
        self._deliveries = RollingWriter(sink.table("consume", stem))
        self._events = RollingWriter(sink.table("consumer_events", stem))
        self._buffer = EventBuffer(
            member,
            incarnation,
            entry.group,
            processes_at_once=entry.commit is not Commit.BEFORE_PROCESSING,
        )
        self._ledger = LedgerThread(self._flush)
        self._transform = self._make_transform((member, incarnation), sink, login)
        self._positions: Positions = self._transform or Commits(
            self._buffer, self._ledger, entry.commit
        )
        settings = Fetching(self._buffer).settings(client_settings(plan, entry, member, login))
        self._assignment = Assignment(
            self._buffer,
            self._positions,
            cooperative=cooperative(settings),
            aborted_within=control.aborted_within,
            begin=plan.begin,
        )
        self._fatal: KafkaError | None = None
        self._errors = ErrorThrottle()
        self._client = make_consumer(
            settings | {"error_cb": self._error, "on_commit": self._positions.answered},
            consumer_field(entry),
        )
        self._positions.client = self._assignment.client = self._client
        if self._transform is not None:
            self._transform.seek = self._assignment.seek
        self._throttle = Throttle(
            self._client, Backlog(self._ledger, lambda: self._buffer.waiting_bytes)
        )
        self._drain: Drain | None = None
        self._lag = Lag(self._positions, self._assignment)

    @property
    def metrics(self) -> tuple[Source, ...]:
        """What this incarnation has for Prometheus."""
        test, member, buffer = self._plan.name, self._environment.member, self._buffer
        return (
            ConsumerMetrics(test, member, buffer, self._positions, self._lag),
            LedgerMetrics(test, member, lambda: buffer.waiting_bytes),
            *([self._transform.metrics] if self._transform is not None else []),
        )

    def run(self) -> int:
        """Consume until the run ends and return the exit status (``krt_contract.exits``)."""
        self._ledger.start()
        error: str | None = None
        try:
            self._control.current()
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
            log.error("fatal error of the Kafka client, ending this incarnation: %s", error)  # noqa: TRY400 - no defect of this program to trace
        positions = dict(self._positions.positions)
        self._assignment.leave()
        self._buffer.event(ConsumerEvent.CLOSED, detail=reason)
        self._end(reason, error, positions)
        return self._status(reason)

    def _consume(self) -> tuple[str, str | None]:
        while True:
            if self._control.terminated:
                return "terminated", None
            instruction = self._control.current()
            if instruction.state in ENDING:
                return "aborted", None
            self._throttle.step()
            self._poll()
            if self._fatal is not None:
                raise FatalClientError(f"{self._fatal.name()}: {self._fatal.str()}")
            self._assignment.restore_positions()
            self._positions.step()
            self._lag.step()
            if instruction.state not in self._drained_in:
                continue
            if self._drain is None:
                self._drain = self._begin_drain(instruction.end_offsets)
            if self._drain.done():
                for partition, position in self._drain.reached().items():
                    self._buffer.event(ConsumerEvent.DRAINED, *partition, position)
                return "drained", None
            if self._drain.overdue:
                return (
                    "behind",
                    f"drain timed out: {self._drain.behind()}; raise spec.timeouts.drain",
                )

    def _status(self, reason: str) -> int:
        if reason == "fatal":
            return TrafficExit.FATAL
        # Whatever ended it: once the end is known, only a consumer that reached it is done.
        behind = self._drain is not None and reason != "drained"
        return TrafficExit.BEHIND if behind else TrafficExit.DONE

    @property
    def _drained_in(self) -> tuple[ControlState, ...]:
        # A transforming consumer ends before the readers of its output learn their ends.
        if self._transform is None:
            return (ControlState.DRAIN,)
        return (ControlState.DRAIN_TRANSFORMS, ControlState.DRAIN)

    def _begin_drain(self, ends: dict[str, dict[int, int]]) -> Drain:
        offsets = {
            (topic, partition): end
            for topic in self._entry.topics
            for partition, end in ends.get(topic, {}).items()
        }
        log.info("draining to the end offsets %s", offsets)
        return Drain(
            self._client,
            self._positions,
            self._assignment,
            offsets,
            self._plan.drain_timeout.seconds,
        )

    def _poll(self) -> None:
        """Deliver the records that are there: at most BATCH, and of one ownership."""
        message = self._next(IDLE_SECONDS)
        ownership = self._assignment.changes
        self._buffer.poll += 1
        index = 0
        while message is not None:
            if (error := message.error()) is None:
                self._positions.deliver(message, index)
                index += 1
            else:
                self._handle_error(message, error)
            if index >= BATCH or ownership != self._assignment.changes or self._positions.full:
                return
            message = self._next(0)
            if ownership != self._assignment.changes:
                ownership = self._assignment.changes
                self._buffer.poll += 1
                index = 0

    def _next(self, seconds: float) -> Message | None:
        try:
            return self._client.poll(seconds)
        except KafkaException as exception:
            # The client raises a fatal error from poll() instead of calling error_cb with it.
            error = exception.args[0]
            if not error.fatal():
                raise
            raise FatalClientError(f"{error.name()}: {error.str()}") from exception

    def _handle_error(self, message: Message, error: KafkaError) -> None:
        code = error.code()
        if code == KafkaError._PARTITION_EOF:  # noqa: SLF001 - no public name
            topic, partition, offset = location_of(message)
            first = self._assignment.end_reached((topic, partition), offset)
            if first or self._drain is not None:
                self._buffer.event(ConsumerEvent.EOF, topic, partition, offset)
        elif code == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001 - no public name
            self._assignment.position_lost(partition_of(message), error.str())
        elif error.fatal():
            self._fatal = error
        else:
            self._errors.log(error)

    def _error(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal = error
        self._errors.log(error)

    def _make_transform(self, who: tuple[str, str], sink: Sink, login: Login) -> Transform | None:
        if self._entry.output is None:
            return None
        output = Output(
            self._plan,
            self._entry.output,
            who,
            sink,
            lambda: self._control.aborted,
            login=login,
        )
        return Transform(self._buffer, self._ledger, output, f"{self._plan.seed}-{who[0]}")

    def _flush(self) -> None:
        # Events first: a delivery must never be durable without the assignment it came from.
        self._events.flush(self._buffer.events())
        self._deliveries.flush(
            *self._buffer.deliveries(), roll=self._transform is None or not self._transform.ending
        )
        if self._transform is not None:
            self._transform.flush()

    def _end(self, reason: str, error: str | None, positions: dict[tuple[str, int], int]) -> None:
        counts = {"delivered": self._buffer.delivered, "committed": self._positions.succeeded}
        if self._transform is not None:
            counts |= self._transform.finish()
        self._ledger.stop()
        self._events.close(self._buffer.events())
        self._deliveries.close(self._buffer.deliveries()[0])
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
