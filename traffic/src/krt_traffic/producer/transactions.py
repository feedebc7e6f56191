"""Writing in transactions of a fixed number of records, some aborted on purpose."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from krt_traffic.clock import mono
from krt_traffic.sending.transaction_manager import TransactionManager

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_contract.clients import Transactions
    from krt_traffic.sending.records import Records
    from krt_traffic.sending.sender import Sender

LONGEST_MICROS = 10_000_000
"""A transaction ends after 10 s however few records it has: well within transaction.timeout.ms
(60 s by default), which the coordinator would end it by."""


class TransactionalSender:
    """Cuts the sends of a sender into transactions, some aborted on purpose.

    Args:
        sender: sends.
        records: knows the sends of the open transaction.
        plan: how long transactions are and how many are aborted.
        seed: decides which ones are aborted.
        stop_waiting: whether to stop waiting for the coordinator.
        stopping: whether to begin no further send.
    """

    def __init__(  # noqa: PLR0913 - each named at the one call
        self,
        sender: Sender,
        records: Records,
        plan: Transactions,
        seed: str,
        *,
        stop_waiting: Callable[[], bool],
        stopping: Callable[[], bool],
    ) -> None:
        self._sender, self._plan = sender, plan
        self._manager = TransactionManager(sender, records, stop_waiting)
        # Which transactions abort must be repeatable; nothing here is a secret.
        self._random = random.Random(seed)  # noqa: S311 - see above
        self._stopping = stopping
        self._open = 0
        self._since = 0

    def start(self) -> bool:
        """Register with the coordinator; False where waiting for it was stopped.

        Raises:
            FatalClientError: the client is over.
        """
        return self._manager.start()

    def send(self, count: int) -> None:
        """Send the next ``count`` records, ending transactions as they fill up.

        Where many sends are overdue, these are many transactions: none is begun once stopping.

        Raises:
            FatalClientError: the client is over.
        """
        while count > 0 and not self._stopping():
            if not self._open:
                self._manager.begin()
                self._since = mono()
            step = min(count, self._plan.records - self._open)
            self._open += step
            self._sender.send(step, self._manager.ordinal)
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
        if self._random.randrange(1000) < self._plan.abort_permille:
            self._manager.abort(self._manager.await_answers)
        else:
            self._manager.commit()

    def abandon(self) -> None:
        """Settle the sends that a client left open when it ended: all of them are unknown."""
        self._open = 0
        self._manager.abandon()
