"""aborted-read: what certainly was not written, or was aborted, is there or was delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.anomalies.schema import finding
from krt_scoring.history.record_columns import (
    ABORTED,
    FAILED,
    IN_LOG,
    LOG_ABORTED,
    LOG_COMMITTED,
    PRESENT,
    delivery_count,
    has,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.anomalies.context import Context

NAME = "aborted-read"


def possible(ctx: Context) -> bool:
    """Whether any failed or aborted send left a trace."""
    return ctx.history.records.totals["failedInLog"] + ctx.history.records.totals["aborted"] > 0


def find(ctx: Context) -> DataFrame:
    """Return one finding a record.

    A failed send outside transactions must be nowhere. A send of an aborted transaction may lie
    in the log as aborted and go to read_uncommitted groups, never be committed nor go to a
    read_committed one. What lies in the log as aborted alone was aborted, whatever its ledger says.
    """
    plain = (sf.col("outcome") == FAILED) & sf.col("transaction").isNull()
    somewhere = (sf.col("log_rows") > 0) | sf.col("got_first").isNotNull()
    committed: Column = has(IN_LOG | LOG_COMMITTED)
    for group in ctx.history.facts.groups:
        if group.committed_only:
            committed = committed | (sf.col(delivery_count(group)) > 0)
    by_ledger = sf.col("transaction_outcome") == ABORTED
    aborted = by_ledger | (has(LOG_ABORTED) & ~has(PRESENT))
    rows = ctx.suspects.filter((plain & somewhere) | (aborted & committed))
    tag = sf.when(aborted, "transaction").otherwise("failedSend")
    return finding(NAME, rows, tag=tag)
