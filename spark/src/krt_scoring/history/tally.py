"""Tallies: the records of each producer incarnation counted, in one pass over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.history.outcomes import RECORD_OUTCOMES
from krt_scoring.history.packing import ANOMALOUS, ELSEWHERE
from krt_scoring.history.record_columns import (
    BAD_DELIVERED,
    BAD_IN_LOG,
    LOG_ABORTED,
    PRESENT,
    has,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class Tally:
    """Records of one incarnation, of one ledger outcome and one record outcome.

    Attributes:
        pk: the incarnation's key.
        outcome: code; None where no ledger has them.
        record_outcome: a name of ``RECORD_OUTCOMES``.
        records: how many.
        anomalous: how many of them are not clean.
        elsewhere: of how many the places of their deliveries have to be looked up.
        rows, log_rows, got_rows: their rows in ledger, log and deliveries.
        highest: their highest seq.
        known: the highest in a ledger or in undamaged bytes; -1 where there is none.
    """

    pk: int
    outcome: int | None
    record_outcome: str
    records: int
    anomalous: int
    elsewhere: int
    rows: int
    log_rows: int
    got_rows: int
    highest: int
    known: int


def count(packed: DataFrame) -> tuple[Tally, ...]:
    """Tally the records of ``packing.pack``."""

    def rows(name: str, clean: Column) -> Column:
        return sf.sum(sf.coalesce(sf.col(f"every.{name}"), clean).cast("long")).alias(name)

    found = (
        packed.groupBy("pk", "outcome", "record_outcome")
        .agg(
            sf.count("*").alias("records"),
            _rows(sf.col("anomalous") >= ANOMALOUS).alias("anomalous"),
            _rows(sf.col("anomalous") == ELSEWHERE).alias("elsewhere"),
            rows("rows", sf.lit(1)),
            rows("log_rows", sf.col("once").cast("int")),
            rows("got_rows", sf.col("got_rows")),
            sf.max("seq").alias("highest"),
            sf.coalesce(sf.max(sf.when(_vouched(), sf.col("seq"))), sf.lit(-1)).alias("known"),
        )
        .collect()
    )
    named = [
        row.asDict() | {"record_outcome": RECORD_OUTCOMES[row["record_outcome"]]} for row in found
    ]
    return tuple(Tally(**row) for row in named)


def _rows(of: Column) -> Column:
    return sf.count(sf.when(of, 1))


def _vouched() -> Column:
    """Whether a ledger, or undamaged bytes, show a record's seq."""
    in_log = has(PRESENT | LOG_ABORTED) & ~has(BAD_IN_LOG)
    delivered = (sf.col("got_rows") > 0) & ~has(BAD_DELIVERED)
    return sf.col("outcome").isNotNull() | in_log | delivered
