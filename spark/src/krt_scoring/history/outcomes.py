"""The outcome of each record: the one term of the ledger identity it counts under.

A row is *clean* when no rule about single records can find anything in it; the rules look at the
rest only.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.history import delivery_places, partition_bounds
from krt_scoring.history.positions import offset_of, tp_of
from krt_scoring.history.record_columns import (
    ACKED,
    BAD_DELIVERED,
    BAD_IN_LOG,
    COMMITTED,
    FAILED,
    IN_LOG,
    LOG_ABORTED,
    LOG_COMMITTED,
    PRESENT,
    TAKEN_BACK,
    UNKNOWN,
    delivered_at,
    delivery_count,
    delivery_state,
    has,
    owed,
    received_at,
    received_count,
    received_state,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.facts import Facts
    from krt_scoring.inputs.fault_windows import FaultWindow

RECORD_OUTCOMES = (
    "lost",
    "expired",
    "undelivered",
    "deliveredLate",
    "delivered",
    "unknownInLog",
    "unknownNotInLog",
    "failedNotInLog",
    "failedInLog",
)
"""Terms of the ledger identity that a record can count under, in its order. Records store the
index: texts would be compared several times for each record."""

LOST, EXPIRED, UNDELIVERED, DELIVERED_LATE, DELIVERED = range(5)
UNKNOWN_IN_LOG, UNKNOWN_NOT_IN_LOG, FAILED_NOT_IN_LOG, FAILED_IN_LOG = range(
    5, len(RECORD_OUTCOMES)
)


def judge(rows: DataFrame, facts: Facts, faults: tuple[FaultWindow, ...]) -> DataFrame:
    """Return the records of ``aggregation.build`` with what became of them.

    Columns: ``present``; ``below_start``: it is not, and lay below the start of its log; per group
    ``owed_i``, and ``r_i, t_i, s_i`` of deliveries from its own places: the same as ``d_i, h_i,
    a_i`` but where ``elsewhere`` says that this has to be looked up (``delivery_places``), as
    ``absent_from`` has: the lowest place that it was delivered from and that the log, as read, does
    not hold it at; ``passed_over``, of an unread log: a group read past it and none received it;
    ``record_outcome``, an index of ``RECORD_OUTCOMES``; ``clean``: no rule
    about single records can find anything in it. ``start_i`` and ``reach_i`` are dropped.
    """
    offset = offset_of(sf.col("position"))
    known = sf.coalesce(sf.col("readable"), sf.lit(0)) == 1
    # Where a partition's log could not be read, what lay in it is unknown: an acked or delivered
    # record is taken to be there, unless some group read past it and none ever received it.
    there = has(PRESENT) | (
        ~sf.col("readable") & sf.col("position").isNotNull() & ~sf.col("passed_over")
    )
    rows = (
        rows.withColumn("readable", known)
        .withColumn("passed_over", _passed_over(offset, facts))
        .withColumn("present", there)
    )
    rows = rows.withColumn("below_start", ~sf.col("present") & _below_start(facts))
    required = (sf.col("outcome") == ACKED) | (
        sf.col("present") & (sf.coalesce(sf.col("outcome"), sf.lit(UNKNOWN)) == UNKNOWN)
    )
    dues: dict[str, Column] = {}
    committed = has(IN_LOG | LOG_COMMITTED) | ~sf.col("readable")
    for group in facts.groups:
        visible = committed if group.committed_only else sf.lit(col=True)
        start = sf.col(f"start_{group.index}")
        due = required & sf.col("present") & visible & (offset >= start)
        dues[owed(group)] = sf.coalesce(due, sf.lit(col=False))
    received: dict[str, Column] = {
        "elsewhere": delivery_places.doubtful(),
        "absent_from": sf.lit(None).cast("long"),
    }
    for group in facts.groups:
        received |= {
            received_count(group): sf.col(delivery_count(group)),
            received_at(group): sf.col(delivered_at(group)),
            received_state(group): sf.col(delivery_state(group)),
        }
    spans = [f"{name}_{group.index}" for group in facts.groups for name in ("start", "reach")]
    rows = rows.withColumns(dues | received).drop(*spans)
    return with_outcome(rows, facts, faults).withColumn("clean", _clean(facts))


def with_outcome(rows: DataFrame, facts: Facts, faults: tuple[FaultWindow, ...]) -> DataFrame:
    """Return judged records with the outcome that follows from what reached each group."""
    return rows.withColumn("record_outcome", _record_outcome(facts, faults))


def _below_start(facts: Facts) -> Column:
    """Whether a record lay below the start of its log: as acked, else as it was last delivered."""
    last = sf.coalesce("ack_position", "got_last")
    below = offset_of(last) < partition_bounds.start_of(tp_of(last), facts)
    return sf.coalesce(below, sf.lit(col=False))


def _passed_over(offset: Column, facts: Facts) -> Column:
    """Whether some group was owed a record and read beyond it, and none ever received it."""
    passed: Column = sf.lit(col=False)
    if not facts.reached:
        return passed
    received: Column = sf.lit(col=False)
    settled = sf.col("transaction").isNull() | (sf.col("transaction_outcome") == COMMITTED)
    for group in facts.groups:
        visible = settled if group.committed_only else sf.lit(col=True)
        start, reach = sf.col(f"start_{group.index}"), sf.col(f"reach_{group.index}")
        passed = passed | sf.coalesce(
            visible & (offset >= start) & (offset <= reach), sf.lit(col=False)
        )
        received = received | (sf.col(delivery_state(group)) >= TAKEN_BACK)
    return passed & ~received


def _record_outcome(facts: Facts, faults: tuple[FaultWindow, ...]) -> Column:
    """The one term of the ledger identity a record falls under."""
    missing = sf.lit(col=False)
    last = sf.lit(None).cast("long")
    for group in facts.groups:
        missing = missing | (sf.col(owed(group)) & (sf.col(received_count(group)) == 0))
        reached = sf.when(sf.col(owed(group)), sf.col(received_at(group)))
        last = sf.greatest(last, reached) if facts.groups.index(group) else reached
    reverted = sf.lit(0).cast("long")
    for fault in faults:
        during = (sf.col("done_at") >= fault.begin) & (sf.col("done_at") < fault.end)
        reverted = sf.greatest(reverted, sf.when(during, sf.lit(fault.end)).otherwise(sf.lit(0)))
    late = sf.coalesce((reverted > 0) & (last > reverted), sf.lit(col=False))
    acked = (
        sf.when(sf.col("below_start"), EXPIRED)
        .when(~sf.col("present"), LOST)
        .when(missing, UNDELIVERED)
        .when(late, DELIVERED_LATE)
        .otherwise(DELIVERED)
    )
    return (
        sf.when(sf.col("outcome") == ACKED, acked)
        .when(
            sf.col("outcome") == FAILED,
            sf.when(sf.col("present"), FAILED_IN_LOG).otherwise(FAILED_NOT_IN_LOG),
        )
        .otherwise(sf.when(sf.col("present"), UNKNOWN_IN_LOG).otherwise(UNKNOWN_NOT_IN_LOG))
    )


def _clean(facts: Facts) -> Column:
    # Of a log that was not read, the delivery says where a record lies.
    unread = ~sf.col("readable") & (sf.col("log_rows") == 0) & sf.col("got_first").isNotNull()
    same = sf.coalesce(sf.col("log_first"), sf.when(unread, sf.col("got_first")))
    parts = [
        sf.col("rows") == 1,
        sf.col("record_outcome").isin(
            DELIVERED, DELIVERED_LATE, UNKNOWN_IN_LOG, UNKNOWN_NOT_IN_LOG, FAILED_NOT_IN_LOG
        ),
        ~has(BAD_IN_LOG | BAD_DELIVERED),
        ~sf.col("offset_unusable"),
        ((sf.col("log_rows") == 1) | unread)
        & (sf.coalesce(sf.col("ack_position"), same) == same)
        & (sf.coalesce(sf.col("got_first"), same) == same)
        & (sf.coalesce(sf.col("got_last"), same) == same)
        & (sf.coalesce(sf.col("ledger_tp"), tp_of(same)) == tp_of(same))
        & ~has(LOG_ABORTED)
        | (sf.col("log_rows") == 0)
        & sf.col("got_first").isNull()
        & sf.col("ack_position").isNull(),
        (sf.coalesce(sf.col("transaction_outcome"), sf.lit(COMMITTED)) == COMMITTED)
        | (sf.col("log_rows") == 0) & sf.col("transaction").isNull(),
    ]
    for group in facts.groups:
        got = sf.col(delivery_count(group))
        parts.append(sf.when(sf.col(owed(group)), got == 1).otherwise(got <= 1))
    return sf.coalesce(reduce(and_, parts), sf.lit(col=False))
