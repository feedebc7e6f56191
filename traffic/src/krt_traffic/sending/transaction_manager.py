"""Beginning and ending transactions: requests to the coordinator until it has answered."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException

from krt_contract.outcomes import SendOutcome, TransactionOutcome
from krt_traffic.errors import FatalClientError

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_traffic.sending.records import Records
    from krt_traffic.sending.sender import Sender

log = logging.getLogger(__name__)

CALL_SECONDS = 5.0
"""How long one call to the coordinator waits before instructions are read again."""

LAST_CALL_SECONDS = 2.0
"""The one call that is still made after waiting was stopped: a transaction that is open when the
pod ends would else block every read_committed reader until transaction.timeout.ms. Three such calls
end within the pod's grace period (10 s)."""


class TransactionManager:
    """Transactions of one producer; a send's outcome is that of its transaction.

    Args:
        sender: sends.
        records: knows the sends of the open transaction.
        stop_waiting: whether to stop waiting for the coordinator.

    Attributes:
        ordinal: of the transaction that is open or was last; -1 before the first.
    """

    def __init__(self, sender: Sender, records: Records, stop_waiting: Callable[[], bool]) -> None:
        self.ordinal = -1
        self._sender, self._records, self._stop_waiting = sender, records, stop_waiting

    def start(self) -> bool:
        """Register with the coordinator; False where waiting for it was stopped.

        Raises:
            FatalClientError: the client is over.
        """
        client = self._sender.client
        while not self._stop_waiting():
            if self._call(client.init_transactions):
                return True
        return False

    def begin(self) -> int:
        """Begin a transaction and return its ordinal; sends nothing to the coordinator yet."""
        self._sender.client.begin_transaction()
        self.ordinal += 1
        return self.ordinal

    def commit(self, first: Callable[[float], None] | None = None) -> TransactionOutcome:
        """Commit the open transaction and settle its sends.

        Args:
            first: called before, with the seconds it may take, and again until it returns; an
                error that it raises counts like one of the commit.

        Returns:
            COMMITTED; ABORTED where only that was possible; UNKNOWN where waiting was stopped.

        Raises:
            FatalClientError: the client is over; the sends are unknown.
        """
        return self._settling(lambda: self._commit(first))

    def abort(self, first: Callable[[float], None] | None = None) -> TransactionOutcome:
        """Abort the open transaction and settle its sends: ABORTED, or UNKNOWN as for ``commit``.

        Args:
            first: as for ``commit``.

        Raises:
            FatalClientError: the client is over; the sends are unknown.
        """
        return self._settling(lambda: self._abort(first))

    def await_answers(self, seconds: float) -> None:
        """Wait for the answers to all sends; for ``abort``, where nothing is wrong.

        An abort calls back the records that are on their way. Once they are answered, they are in
        the log, where no read_committed reader may see them, and their ledger rows say that the
        broker had acked them.

        Raises:
            KafkaException: some are still outstanding.
            FatalClientError: the client is over.
        """
        self._sender.flush(seconds)
        if self._records.in_flight:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - no public name

    def abandon(self) -> None:
        """Settle the sends that a client left open when it ended: all of them are unknown."""
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
        done = self._until_done(self._sender.client.abort_transaction)
        return TransactionOutcome.ABORTED if done else TransactionOutcome.UNKNOWN

    def _until_done(self, call: Callable[[float], None]) -> bool:
        """Call again until it succeeds; False where waiting was stopped, after one more try."""
        while True:
            last = self._stop_waiting()
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
        # Reports of sends that the end of the transaction purged come with the next poll.
        self._reports()
        records = self._records
        for done in list(records.in_transaction.values()):
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
            log.info("while sends were settled: %s", error)  # the transaction's end raises it, too


class _AbortRequiredError(Exception):
    """The transaction can only be aborted."""
