"""The life of one producer incarnation."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from krt_contract.exits import TrafficExit
from krt_traffic import termination
from krt_traffic.backlog import Backlog
from krt_traffic.clock import SECOND_MICROS, mono
from krt_traffic.errors import FatalClientError
from krt_traffic.evidence import open_sink, report_in_log
from krt_traffic.ledger_thread import LedgerThread
from krt_traffic.login import read_login
from krt_traffic.metrics.ledger import LedgerMetrics
from krt_traffic.plan import find_producer
from krt_traffic.producer.schedule import Schedule
from krt_traffic.producer.transactions import TransactionalSender
from krt_traffic.rolling_writer import RollingWriter
from krt_traffic.sending.metrics import SendMetrics
from krt_traffic.sending.records import Records
from krt_traffic.sending.sender import CHUNK, Sender

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_traffic.control import Control
    from krt_traffic.environment import Environment
    from krt_traffic.metrics.families import Source

log = logging.getLogger(__name__)

TICK_MICROS = 20_000
"""Microseconds between two readings of the schedule. Sends of a tick share batches, which spares
brokers requests (two cores carry a whole cluster); it is below the latency of an acks=all write on
a busy machine, and latency counts from the scheduled time all the same."""

LONGEST_POLL_MICROS = 100_000
"""Microseconds until instructions are read again when nothing is due."""

SHORTEST_POLL_MICROS = 1_000
"""The client counts in milliseconds; less would be a busy loop."""

FULL_POLL_SECONDS = 0.01
"""How long to wait for delivery reports before looking again whether rows may come."""

TERMINATION_FLUSH_SECONDS = 5.0
"""How long brokers may still answer after SIGTERM, within any sensible grace period."""


class ProducerRun:
    """One incarnation from its first instruction to its termination message.

    Args:
        environment: identity and folders of this pod.
        plan: the run.
        control: the controller's instructions.
    """

    def __init__(self, environment: Environment, plan: Plan, control: Control) -> None:
        self._environment, self._plan, self._control = environment, plan, control
        self._entry = find_producer(plan, environment.name)
        member, incarnation = environment.member, environment.pod_uid
        self._schedule: Schedule | None = None
        self._records = Records(self._entry, member, incarnation)
        sink = open_sink(environment, plan, report_in_log(member))
        stem = f"{member}-{incarnation}"
        self._table = RollingWriter(sink.table("produce", stem))
        self._summary = sink.table("producer_summary", stem)
        self._ledger = LedgerThread(self._flush)
        self._backlog = Backlog(self._ledger, lambda: self._records.waiting_bytes)
        login = read_login(environment, plan)
        self._sender = Sender(plan, self._entry, self._records, member, incarnation, login=login)
        self._transactions = self._make_transactions(member)
        self._metrics = SendMetrics(plan.name, member, self._records, self._sender)

    @property
    def metrics(self) -> tuple[Source, ...]:
        """What this incarnation has for Prometheus."""
        plan, member = self._plan, self._environment.member
        ledger = LedgerMetrics(plan.name, member, lambda: self._records.waiting_bytes)
        return (self._metrics, ledger)

    def run(self) -> int:
        """Produce until the run ends and return the exit status (``krt_contract.exits``)."""
        self._ledger.start()
        error: str | None = None
        try:
            self._produce()
            self._finish()
        except FatalClientError as fatal:
            error = str(fatal)
            log.error("fatal error of the Kafka client, ending this incarnation: %s", error)  # noqa: TRY400 - no defect of this program to trace
        self._sender.purge()
        if self._transactions is not None:
            self._transactions.abandon()
        self._end(error)
        return TrafficExit.DONE if error is None else TrafficExit.FATAL

    def _produce(self) -> None:
        if self._control.current().producers_stop:
            return
        if self._entry.records_per_second:
            self._schedule = self._records.schedule = Schedule(
                mono(), self._entry.records_per_second
            )
        if self._transactions is not None and not self._transactions.start():
            return
        wake = 0
        while not self._stop:
            if self._backlog.relieve():
                self._sender.serve(FULL_POLL_SECONDS)
                continue
            now = mono()
            if now >= wake:
                wake = self._send_due(now)
            pause = min(max(wake - mono(), SHORTEST_POLL_MICROS), LONGEST_POLL_MICROS)
            self._sender.serve(pause / SECOND_MICROS if self._schedule else 0)

    def _send_due(self, now: int) -> int:
        if self._schedule is None:
            self._sender.send_patiently(CHUNK)
            return 0
        due = min(self._schedule.due(now) - self._records.attempted, CHUNK)
        if self._transactions is not None:
            self._transactions.send(due)
        elif due > 0:
            self._sender.send(due)
        return max(
            self._schedule.at(self._records.attempted), now + TICK_MICROS if due < CHUNK else 0
        )

    def _finish(self) -> None:
        """Give the brokers time to answer all sends; half the drain is left to the consumers."""
        started = mono()
        if self._transactions is not None:
            self._transactions.end()
        while self._records.in_flight and not self._flush_is_over(started):
            self._sender.flush(0.2)

    def _flush_is_over(self, started: int) -> bool:
        waited = (mono() - started) / SECOND_MICROS
        if self._control.terminated:
            return waited > TERMINATION_FLUSH_SECONDS
        return self._control.aborted or waited > self._plan.drain_timeout.seconds / 2

    @property
    def _stop(self) -> bool:
        instruction = self._control.instruction
        return self._control.aborted or instruction is None or instruction.producers_stop

    def _flush(self) -> None:
        done, in_flight = self._records.snapshot()
        # First: a write waits for a store that is unavailable.
        self._metrics.update()
        self._table.flush(done, in_flight)

    def _end(self, error: str | None) -> None:
        self._ledger.stop()
        self._table.close(self._records.snapshot()[0])
        self._summary.write(self._records.summary())
        counts = {"attempted": self._records.attempted, **self._records.counts}
        text = termination.message(
            "producer",
            counts,
            reason="fatal" if error else self._reason,
            positions=self._sender.positions,
            error=error,
        )
        termination.write(self._environment.termination_log, text)
        log.info("%s", text)

    @property
    def _reason(self) -> str:
        if self._control.terminated:
            return "terminated"
        return "aborted" if self._control.aborted else "stopped"

    def _make_transactions(self, member: str) -> TransactionalSender | None:
        if self._entry.transactions is None:
            return None
        return TransactionalSender(
            self._sender,
            self._records,
            self._entry.transactions,
            f"{self._plan.seed}-{member}",
            stop_waiting=lambda: self._control.aborted,
            stopping=lambda: self._stop,
        )
