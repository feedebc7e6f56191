"""A producing client that gives every send an outcome."""

from __future__ import annotations

import contextlib
import json
import logging
from functools import partial
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, Message

from krt_contract.clients import Acks
from krt_contract.kafka_login import PLAINTEXT
from krt_contract.outcomes import SendOutcome
from krt_contract.payload import Encoder
from krt_traffic.client import make_producer, producer_field
from krt_traffic.clock import EventClock, both, mono
from krt_traffic.error_throttle import ErrorThrottle
from krt_traffic.errors import FatalClientError
from krt_traffic.sending.acknowledgements import NO_OFFSET
from krt_traffic.sending.outcomes import (
    PURGED,
    Circumstances,
    outcome_of,
)
from krt_traffic.sending.records import Done, Records, Sent
from krt_traffic.sending.settings import STATISTICS_MS, client_settings, single_attempt

if TYPE_CHECKING:
    from krt_contract.clients import ProducerSpec
    from krt_contract.kafka_login import Login
    from krt_contract.plan import Plan

log = logging.getLogger(__name__)

CHUNK = 500
"""Records given to the client before its delivery reports are taken again."""

UNLIMITED_IN_FLIGHT = 10_000
"""Records in flight at the unlimited rate: about what five requests of 64 KiB to each of a few
partitions hold, so that neither the client's queue nor the ledger's view of it grows."""

PURGE_SECONDS = 5.0
"""Purging only calls delivery reports; nothing goes over the network."""


class Sender:
    """A client of one incarnation, with an outcome for every send.

    Args:
        plan: the run.
        entry: the entry of the plan it plays.
        records: where sends and outcomes go.
        member: ``<name>-<replica>``.
        incarnation: pod uid.
        login: how it logs in.
    """

    def __init__(  # noqa: PLR0913 (who it is, what it does, and how it gets in)
        self,
        plan: Plan,
        entry: ProducerSpec,
        records: Records,
        member: str,
        incarnation: str,
        *,
        login: Login = PLAINTEXT,
    ) -> None:
        settings = client_settings(plan, entry, member, login)
        self._entry, self._records = entry, records
        self._encoder = Encoder(plan.uid, member, incarnation, entry.value_bytes)
        self._offsets_known = entry.acks is not Acks.NONE
        self._circumstances = Circumstances(single_attempt=single_attempt(settings))
        self._statistics = 0
        self._purged: list[Done] = []
        self._clock = EventClock()
        self._last_acked: dict[int | None, int] = {}
        self.fatal: KafkaError | None = None
        self._errors = ErrorThrottle()
        self.client = make_producer(
            settings | {"error_cb": self._error, "stats_cb": self._count_answers},
            producer_field(plan, entry),
        )

    @property
    def positions(self) -> dict[str, int]:
        """Offset of the last acknowledged record, by ``<topic>-<partition>``."""
        topic = self._entry.topic
        return {f"{topic}-{partition}": at for partition, at in self._last_acked.items()}

    @property
    def acked_offsets(self) -> dict[int, int] | None:
        """Offset of the last acknowledged record, by partition; None where none is known."""
        if not self._offsets_known:
            return None
        # In one step: the producer's thread goes on.
        found = self._last_acked.copy()
        return {partition: at for partition, at in found.items() if partition is not None}

    def send(self, count: int, transaction: int | None = None) -> None:
        """Send the next ``count`` records; never blocks.

        Raises:
            FatalClientError: the client is over; the records it refused are failed.
        """
        records = self._records
        sent = Sent(*both(), transaction)
        # Looked up once, not for every record: this loop and _delivered are what a producer costs.
        produce, topic, delivered = self.client.produce, self._entry.topic, self._delivered
        first, in_flight = records.attempted, records.in_flight
        values, routes = self._encoder.values(first, count), records.next_routes(count)
        for seq, value, (key, partition) in zip(
            range(first, first + count), values, routes, strict=True
        ):
            records.attempted = seq + 1
            in_flight[seq] = sent
            try:
                produce(topic, value, key, partition, partial(delivered, seq))
            except (BufferError, KafkaException) as error:
                self._refused(seq, sent, error)
        if self.fatal is not None:
            raise FatalClientError(str(self.fatal))

    def serve(self, seconds: float) -> None:
        """Take delivery reports, waiting up to ``seconds`` (below 0.2) for a first one.

        They have the time of the first: the client waits for one, takes all that are there, and
        hands them over one by one (``rd_kafka_q_serve``), which is our time, not the brokers'. Of a
        longer wait, it would make several.

        Raises:
            FatalClientError: the client is over.
        """
        try:
            with self._clock.at_once():
                self.client.poll(seconds)
        except KafkaException as exception:
            self._end(exception)

    def flush(self, seconds: float) -> None:
        """Send records that linger and take delivery reports, for up to ``seconds``.

        Raises:
            FatalClientError: the client is over.
        """
        try:
            self.client.flush(seconds)
        except KafkaException as exception:
            self._end(exception)

    def _end(self, exception: KafkaException) -> None:
        # The client raises a fatal error from whatever call serves its events, instead of calling
        # error_cb with it.
        error = exception.args[0]
        if not error.fatal():
            raise exception
        self.fatal = error
        raise FatalClientError(f"{error.name()}: {error.str()}") from exception

    def send_patiently(self, count: int) -> None:
        """Send the next ``count`` records, waiting wherever the client's queue is full.

        Only for the unlimited rate: a wait shifts everything that is due later.
        """
        while count > 0:
            free = UNLIMITED_IN_FLIGHT - len(self._records.in_flight)
            if free <= 0:
                self.serve(0.01)
                continue
            step = min(count, CHUNK, free)
            self.send(step)
            count -= step

    def purge(self) -> None:
        """Give up what is still in flight; its outcomes are known when it returns."""
        self.client.purge()
        deadline = mono() + int(PURGE_SECONDS * 1e6)
        while self._records.in_flight and mono() < deadline:
            try:
                self.flush(PURGE_SECONDS)
            except FatalClientError as error:
                log.info("while purging: %s", error)  # reports still come, and they are the point
            if self._purged and len(self._purged) == len(self._records.in_flight):
                break
        if self._purged:
            self._await_statistics()
        for done in self._purged:
            outcome = outcome_of(KafkaError._PURGE_QUEUE, self._circumstances)  # noqa: SLF001 - no public name
            self._records.done(done._replace(outcome=outcome))
        self._purged.clear()

    def _await_statistics(self) -> None:
        # Twice: the first may have been gathered before the purge.
        before, deadline = self._statistics, mono() + 3 * STATISTICS_MS * 1000
        while self._statistics < before + 2 and mono() < deadline:
            with contextlib.suppress(FatalClientError):  # it is known; statistics still come
                self.serve(0.1)
        if self._statistics < before + 2:
            self._circumstances.ever_connected = True

    def _delivered(self, seq: int, error: KafkaError | None, message: Message) -> None:
        at, now = self._clock.shared or self._clock.both()
        records = self._records
        sent = records.in_flight[seq]
        if error is not None:
            self._failed(seq, sent, at, now, error)
            return
        self._circumstances.ever_acked = True
        offset = message.offset() if self._offsets_known else None
        if offset is None or offset < 0:
            offset = NO_OFFSET
        else:
            self._last_acked[message.partition()] = offset
        if sent.transaction is None:
            records.acked(seq, sent, at, now, offset)
        else:
            known = None if offset == NO_OFFSET else offset
            records.report(Done(seq, sent, at, now, known, SendOutcome.ACKED, None))

    def _failed(self, seq: int, sent: Sent, at: int, now: int, error: KafkaError) -> None:
        outcome = outcome_of(error.code(), self._circumstances)
        done = Done(seq, sent, at, now, None, outcome, error.name())
        if error.fatal():
            self.fatal = error
        if error.code() in PURGED and outcome is SendOutcome.FAILED and sent.transaction is None:
            self._purged.append(done)
        else:
            self._records.report(done)

    def _refused(self, seq: int, sent: Sent, error: BufferError | KafkaException) -> None:
        cause = error.args[0] if error.args else None
        name = cause.name() if isinstance(cause, KafkaError) else "_QUEUE_FULL"
        if isinstance(cause, KafkaError) and cause.fatal():
            self.fatal = cause
        self._records.done(Done(seq, sent, *both(), None, SendOutcome.FAILED, name))

    def _error(self, error: KafkaError) -> None:
        if error.fatal():
            self.fatal = error
        self._errors.log(error)

    def _count_answers(self, statistics: str) -> None:
        if self._statistics and self._circumstances.ever_connected:
            return
        # rx counts answers. A broker that never gave one cannot have been sent a record, because
        # the client waits for the answer to its version request first.
        brokers = json.loads(statistics)["brokers"].values()
        self._circumstances.ever_connected = any(broker["rx"] for broker in brokers)
        self._statistics += 1
