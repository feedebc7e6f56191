"""The columns of a record: their names for each consumer group, codes and bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import DeliveryOutcome, LogState, SendOutcome, TransactionOutcome

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.groups import Group

ACKED, FAILED, UNKNOWN = 1, 2, 3
OUTCOME_CODES = {
    SendOutcome.ACKED.value: ACKED,
    SendOutcome.FAILED.value: FAILED,
    SendOutcome.UNKNOWN.value: UNKNOWN,
}
"""What the producer's ledger says of a send → its code in the column ``outcome``."""

COMMITTED, ABORTED, UNDECIDED = 1, 2, 3
TRANSACTION_CODES = {
    TransactionOutcome.COMMITTED.value: COMMITTED,
    TransactionOutcome.ABORTED.value: ABORTED,
    TransactionOutcome.UNKNOWN.value: UNDECIDED,
}
"""How a send's transaction ended → its code in the column ``transaction_outcome``."""

IN_LOG, LOG_COMMITTED, LOG_ABORTED, LOG_OPEN = 1, 2, 4, 8
STATE_BITS = {
    LogState.PLAIN.value: IN_LOG,
    LogState.COMMITTED.value: LOG_COMMITTED,
    LogState.ABORTED.value: LOG_ABORTED,
    LogState.OPEN.value: LOG_OPEN,
}
BAD_IN_LOG, BAD_DELIVERED, UNDONE_ACK = 16, 32, 64
"""Bits of the column ``bits``: the states a record has in the log, whether damaged bytes were seen
in the log or delivered, and whether the broker had acked a send that failed because its transaction
was aborted."""

PRESENT = IN_LOG | LOG_COMMITTED | LOG_OPEN
"""States in which a record is in the log; a record that lies there as aborted counts as absent."""

TAKEN_BACK, REACHED = 1, 2
"""Values of the column ``delivery_state`` beside 0, which says that no delivery was made."""


def delivery_count(group: Group) -> str:
    """Return the column that counts a record's ok deliveries to a group."""
    return f"d_{group.index}"


def delivered_at(group: Group) -> str:
    """Return the column with the time of a record's first ok delivery to a group, UTC µs."""
    return f"h_{group.index}"


def first_delivered_at(facts: Facts) -> Column:
    """Return when any group first received a record, UTC µs; null where none did."""
    times = [sf.col(delivered_at(group)) for group in facts.groups]
    return sf.array_min(sf.array(*times)) if times else sf.lit(None).cast("long")


def delivery_state(group: Group) -> str:
    """Return the column that says whether any delivery, ok or not, reached the group.

    0: none did; TAKEN_BACK: only deliveries that the abort of their transaction took back;
    REACHED: any other delivery did.
    """
    return f"a_{group.index}"


def received_count(group: Group) -> str:
    """Return the column that counts the ok deliveries from where the log holds the record.

    A delivery from a log that was not read to its settled end counts too, and one from below the
    start: what lay there is not known.
    """
    return f"r_{group.index}"


def received_at(group: Group) -> str:
    """Return the column with the time of the first such delivery, UTC µs."""
    return f"t_{group.index}"


def received_state(group: Group) -> str:
    """Return the column that is ``delivery_state`` without ok deliveries from elsewhere."""
    return f"s_{group.index}"


def owed(group: Group) -> str:
    """Return the column that says whether the record has to be delivered to the group."""
    return f"owed_{group.index}"


def has(bits: int) -> Column:
    """Whether a record has any of the bits."""
    return sf.col("bits").bitwiseAND(sf.lit(bits)) != 0


def taken_back(facts: Facts) -> Column:
    """Whether the abort of its transaction took a delivery back."""
    if not facts.transactional:
        return sf.lit(col=False)
    aborted = sf.col("outcome") == DeliveryOutcome.FAILED.value
    return aborted & sf.coalesce(facts.group_index().isin(*facts.transactional), sf.lit(col=False))
