"""What the records of each producer incarnation come to: one pass over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.history.outcomes import FATES
from krt_scoring.history.records import (
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
    """Records of one incarnation, of one outcome and one fate.

    Attributes:
        pk: the incarnation's key.
        outcome: code; None where no ledger tells of them.
        fate: a name of ``FATES``.
        records: how many.
        odd: of which are not clean.
        rows, log_rows, got_rows: their rows in ledger, log and deliveries.
        highest: their highest seq.
        known: the highest that a ledger or whole bytes tell of; -1 where there is none.
    """

    pk: int
    outcome: int | None
    fate: str
    records: int
    odd: int
    rows: int
    log_rows: int
    got_rows: int
    highest: int
    known: int


def take(packed: DataFrame) -> tuple[Tally, ...]:
    """Tally the records of ``derive.packed``."""

    def rows(name: str, clean: Column) -> Column:
        return sf.sum(sf.coalesce(sf.col(f"whole.{name}"), clean).cast("long")).alias(name)

    found = (
        packed.groupBy("pk", "outcome", "fate")
        .agg(
            sf.count("*").alias("records"),
            sf.sum("odd").alias("odd"),
            rows("rows", sf.lit(1)),
            rows("log_rows", sf.col("once").cast("int")),
            rows("got_rows", sf.col("got_rows")),
            sf.max("seq").alias("highest"),
            sf.coalesce(sf.max(sf.when(_vouched(), sf.col("seq"))), sf.lit(-1)).alias("known"),
        )
        .collect()
    )
    named = [row.asDict() | {"fate": FATES[row["fate"]]} for row in found]
    return tuple(Tally(**row) for row in named)


def _vouched() -> Column:
    """Whether a record's seq is told by a ledger, or by bytes as they were sent."""
    in_log = has(PRESENT | LOG_ABORTED) & ~has(BAD_IN_LOG)
    delivered = (sf.col("got_rows") > 0) & ~has(BAD_DELIVERED)
    return sf.col("outcome").isNotNull() | in_log | delivered
