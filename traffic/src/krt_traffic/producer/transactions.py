"""Writing in transactions of a fixed number of records, some aborted on purpose."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from krt_traffic.clock import mono
from krt_traffic.producer.coordinator import Coordinator

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_contract.clients import Transactions
    from krt_traffic.producer.records import Records
    from krt_traffic.producer.sender import Sender

LONGEST_MICROS = 10_000_000
"""A transaction ends after 10 s however few records it has: well within transaction.timeout.ms
(60 s by default), which the coordinator would end it by."""


class TransactionalSender:
    """Cuts the sends of a sender into transactions, some aborted on purpose.

    Args:
        sender: sends.
        records: knows what is held by the open transaction.
        plan: how long transactions are and how many are aborted.
        draw: seed of which ones are aborted.
        given_up: whether to stop waiting for the coordinator.
        told_to_stop: whether to begin no further send.
    """

    def __init__(  # noqa: PLR0913 - each named at the one call
        self,
        sender: Sender,
        records: Records,
        plan: Transactions,
        draw: str,
        *,
        given_up: Callable[[], bool],
        told_to_stop: Callable[[], bool],
    ) -> None:
        self._sender, self._plan = sender, plan
        self._coordinator = Coordinator(sender, records, given_up)
        # Which transactions abort must be repeatable; nothing here is a secret.
        self._random = random.Random(draw)  # noqa: S311 - see above
        self._told_to_stop = told_to_stop
        self._open = 0
        self._since = 0

    def start(self) -> bool:
        """Register with the coordinator; False where it was given up.

        Raises:
            FatalClientError: the client is over.
        """
        return self._coordinator.start()

    def send(self, count: int) -> None:
        """Send the next ``count`` records, ending transactions as they fill up.

        Where sends are overdue, that is many transactions: none is begun after the order to stop.

        Raises:
            FatalClientError: the client is over.
        """
        while count > 0 and not self._told_to_stop():
            if not self._open:
                self._coordinator.begin()
                self._since = mono()
            step = min(count, self._plan.records - self._open)
            self._open += step
            self._sender.send(step, self._coordinator.ordinal)
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
            self._coordinator.abort(self._coordinator.answered)
        else:
            self._coordinator.commit()

    def abandon(self) -> None:
        """Settle what a client that is over left open: all of it is unknown."""
        self._open = 0
        self._coordinator.abandon()
