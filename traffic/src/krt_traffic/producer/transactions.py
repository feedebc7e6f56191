"""Writing in transactions: a send's outcome is that of its transaction."""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException

from krt_traffic.clock import mono
from krt_traffic.errors import FatalClientError
from krt_traffic.producer.outcomes import ACKED, FAILED, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_traffic.plan import Transactions
    from krt_traffic.producer.records import Records
    from krt_traffic.producer.sender import Sender

log = logging.getLogger(__name__)

CALL_SECONDS = 5.0
"""Each call to the coordinator waits this long before orders are looked at again."""

LONGEST_MICROS = 10_000_000
"""A transaction ends after 10 s however few records it has: well within transaction.timeout.ms
(60 s by default), which the coordinator would end it by."""

COMMITTED, ABORTED = "committed", "aborted"


class TransactionalSender:
    """Cuts the sends of a sender into transactions, some aborted on purpose.

    Args:
        sender: sends.
        records: knows what is held by the open transaction.
        plan: how long transactions are and how many are aborted.
        draw: seed of which ones are aborted.
        given_up: whether to stop waiting for the coordinator.
    """

    def __init__(
        self,
        sender: Sender,
        records: Records,
        plan: Transactions,
        draw: str,
        given_up: Callable[[], bool],
    ) -> None:
        self._sender, self._records, self._plan = sender, records, plan
        # Which transactions abort must be repeatable; nothing here is a secret.
        self._random = random.Random(draw)  # noqa: S311 - see above
        self._given_up = given_up
        self._ordinal = -1
        self._open = 0
        self._since = 0

    def start(self) -> bool:
        """Register with the coordinator; False where it was given up.

        Raises:
            FatalClientError: the client is over.
        """
        while not self._given_up():
            if self._call(lambda: self._sender.client.init_transactions(CALL_SECONDS)):
                return True
        return False

    def send(self, count: int) -> None:
        """Send the next ``count`` records, ending transactions as they fill up.

        Raises:
            FatalClientError: the client is over.
        """
        while count > 0 and not self._given_up():
            if not self._open:
                self._sender.client.begin_transaction()
                self._ordinal += 1
                self._since = mono()
            step = min(count, self._plan.records - self._open)
            self._open += step
            self._sender.send(step, self._ordinal)
            count -= step
            if self._open >= self._plan.records:
                self.end()
        if self._open and mono() - self._since >= LONGEST_MICROS:
            self.end()

    def end(self) -> None:
        """End the open transaction, if there is one, and settle its sends.

        Raises:
            FatalClientError: the client is over; the sends are unknown.
        """
        if not self._open:
            return
        self._open = 0
        outcome = UNKNOWN
        try:
            if self._random.randrange(1000) < self._plan.abort_permille:
                outcome = self._abort()
            else:
                outcome = self._commit()
        finally:
            self._settle(outcome)

    def abandon(self) -> None:
        """Settle what a client that is over left open: all of it is unknown."""
        self._open = 0
        self._settle(UNKNOWN)

    def _commit(self) -> str:
        while not self._given_up():
            try:
                if self._call(lambda: self._sender.client.commit_transaction(CALL_SECONDS)):
                    return COMMITTED
            except _AbortRequiredError:
                return self._abort()
        return UNKNOWN

    def _abort(self) -> str:
        while not self._given_up():
            if self._call(lambda: self._sender.client.abort_transaction(CALL_SECONDS)):
                return ABORTED
        return UNKNOWN

    def _call(self, call: Callable[[], None]) -> bool:
        try:
            call()
        except KafkaException as exception:
            error = exception.args[0]
            if error.txn_requires_abort():
                raise _AbortRequiredError from exception
            if error.retriable() or error.code() == KafkaError._TIMED_OUT:  # noqa: SLF001 - no public name
                return False
            raise FatalClientError(f"{error.name()}: {error.str()}") from exception
        return True

    def _settle(self, outcome: str) -> None:
        # Reports of what the end of the transaction purged come with the next poll.
        self._reports()
        records = self._records
        for done in list(records.held.values()):
            final = done._replace(transaction_outcome=outcome)
            if outcome == ABORTED:
                final = final._replace(outcome=FAILED)
            elif outcome == UNKNOWN and done.outcome == ACKED:
                final = final._replace(outcome=UNKNOWN)
            records.done(final)

    def _reports(self) -> None:
        try:
            self._sender.serve(0)
        except FatalClientError as error:
            log.info("settling: %s", error)  # whoever ended the transaction hears of it anyway


class _AbortRequiredError(Exception):
    """The transaction can only be aborted."""
