"""Beginning and ending transactions: what the coordinator is asked, until it has answered."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException

from krt_contract.outcomes import SendOutcome, TransactionOutcome
from krt_traffic.errors import FatalClientError

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_traffic.producer.records import Records
    from krt_traffic.producer.sender import Sender

log = logging.getLogger(__name__)

CALL_SECONDS = 5.0
"""Each call to the coordinator waits this long before orders are looked at again."""

LAST_CALL_SECONDS = 2.0
"""The one call that is still made when nobody waits any more: what is open when the pod is told to
end would else hold up every read_committed reader until transaction.timeout.ms. Three such calls
end within the pod's grace period (10 s)."""


class Coordinator:
    """Transactions of one producer; a send's outcome is that of its transaction.

    Args:
        sender: sends.
        records: knows what is held by the open transaction.
        given_up: whether to stop waiting for the coordinator.

    Attributes:
        ordinal: of the transaction that is open or was last; -1 before the first.
    """

    def __init__(self, sender: Sender, records: Records, given_up: Callable[[], bool]) -> None:
        self.ordinal = -1
        self._sender, self._records, self._given_up = sender, records, given_up

    def start(self) -> bool:
        """Register with the coordinator; False where it was given up.

        Raises:
            FatalClientError: the client is over.
        """
        client = self._sender.client
        while not self._given_up():
            if self._call(client.init_transactions):
                return True
        return False

    def begin(self) -> int:
        """Begin a transaction and return its ordinal; tells nobody yet."""
        self._sender.client.begin_transaction()
        self.ordinal += 1
        return self.ordinal

    def commit(self, first: Callable[[float], None] | None = None) -> TransactionOutcome:
        """Commit what is open and settle its sends.

        Args:
            first: called before, with the seconds it may take, again and again until it returns;
                what it raises counts like an error of the commit.

        Returns:
            COMMITTED; ABORTED where only that was left; UNKNOWN where it was given up.

        Raises:
            FatalClientError: the client is over; the sends are unknown.
        """
        return self._settling(lambda: self._commit(first))

    def abort(self, first: Callable[[float], None] | None = None) -> TransactionOutcome:
        """Abort what is open and settle its sends: ABORTED, or UNKNOWN where it was given up.

        Args:
            first: as for ``commit``.

        Raises:
            FatalClientError: the client is over; the sends are unknown.
        """
        return self._settling(lambda: self._abort(first))

    def answered(self, seconds: float) -> None:
        """Take the answers to all that was sent; for ``abort``, where nothing is wrong.

        An abort calls back what is on its way. Waited for, it lies in the log, where no reader of
        what is committed may see it, and its ledger row says that the broker had acked it.

        Raises:
            KafkaException: some are still to come.
            FatalClientError: the client is over.
        """
        self._sender.flush(seconds)
        if self._records.in_flight:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - no public name

    def abandon(self) -> None:
        """Settle what a client that is over left open: all of it is unknown."""
        self._settle(TransactionOutcome.UNKNOWN)

    def _settling(self, end: Callable[[], TransactionOutcome]) -> TransactionOutcome:
        outcome = TransactionOutcome.UNKNOWN
        try:
            outcome = end()
        finally:
            self._settle(outcome)
        return outcome

    def _commit(self, first: Callable[[float], None] | None) -> TransactionOutcome:
        try:
            if first is not None and not self._until_done(first):
                return self._abort(None)
            done = self._until_done(self._sender.client.commit_transaction)
        except _AbortRequiredError as required:
            log.info("the transaction can only be aborted: %s", required)
            return self._abort(None)
        return TransactionOutcome.COMMITTED if done else TransactionOutcome.UNKNOWN

    def _abort(self, first: Callable[[float], None] | None) -> TransactionOutcome:
        try:
            if first is not None:
                self._until_done(first)
        except _AbortRequiredError as required:
            log.info("aborting: %s", required)
        return (
            TransactionOutcome.ABORTED
            if self._until_done(self._sender.client.abort_transaction)
            else TransactionOutcome.UNKNOWN
        )

    def _until_done(self, call: Callable[[float], None]) -> bool:
        """Call again until it is done; False where it was given up, after one more try."""
        while True:
            last = self._given_up()
            if self._call(call, LAST_CALL_SECONDS if last else CALL_SECONDS):
                return True
            if last:
                return False

    def _call(self, call: Callable[[float], None], seconds: float = CALL_SECONDS) -> bool:
        try:
            call(seconds)
        except KafkaException as exception:
            error = exception.args[0]
            if error.txn_requires_abort():
                raise _AbortRequiredError(f"{error.name()}: {error.str()}") from exception
            if error.retriable() or error.code() == KafkaError._TIMED_OUT:  # noqa: SLF001 - no public name
                return False
            raise FatalClientError(f"{error.name()}: {error.str()}") from exception
        return True

    def _settle(self, outcome: TransactionOutcome) -> None:
        # Reports of what the end of the transaction purged come with the next poll.
        self._reports()
        records = self._records
        for done in list(records.held.values()):
            final = done._replace(transaction_outcome=outcome)
            if outcome is TransactionOutcome.ABORTED:
                final = final._replace(outcome=SendOutcome.FAILED)
            elif outcome is TransactionOutcome.UNKNOWN and done.outcome is SendOutcome.ACKED:
                final = final._replace(outcome=SendOutcome.UNKNOWN)
            records.done(final)

    def _reports(self) -> None:
        try:
            self._sender.serve(0)
        except FatalClientError as error:
            log.info("settling: %s", error)  # whoever ended the transaction hears of it anyway


class _AbortRequiredError(Exception):
    """The transaction can only be aborted."""
