"""The words of the ledgers: what became of a send, a transaction, a delivery, a record in the log.

They are values of the columns that `schemas` describes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class SendOutcome(StrEnum):
    """``produce.outcome``: what the producer knows of a send."""

    ACKED = "acked"
    FAILED = "failed"
    """Certain not to be in the log."""
    UNKNOWN = "unknown"


class TransactionOutcome(StrEnum):
    """``produce.transaction_outcome``: what the producer knows of a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class DeliveryOutcome(StrEnum):
    """``consume.outcome``; of a delivery within a transaction, whether that was committed."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


class LogState(StrEnum):
    """``log.state``: the transaction of a record that the brokers hold."""

    PLAIN = "plain"
    """Written outside of any transaction."""
    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


READ_COMMITTED: Final = (LogState.PLAIN, LogState.COMMITTED)
"""States of the records that a consumer with isolation read_committed is given."""


class ConsumerEvent(StrEnum):
    """``consumer_events.event``."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"
    SEEK = "seek"
    RESET = "reset"
    EOF = "eof"
    DRAINED = "drained"
    COMMITTED = "committed"
    COMMIT_FAILED = "commit_failed"
    COMMIT_UNKNOWN = "commit_unknown"
    PROCESSED = "processed"
    FETCHING = "fetching"
    CLOSED = "closed"
