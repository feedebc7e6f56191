"""Deciding what a consumer that transforms could not say of its last transaction.

Its deliveries count when their transaction was committed. A member that dies in between leaves
them unknown; but the offsets and what it made of the records were committed together or not at
all, so that any of its output seen as committed decides for all its input.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StringType, StructField, StructType

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome, LogState
from krt_scoring.engine import local_rows
from krt_scoring.history.facts import groups_of, ours

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.tables import History

_SCHEMA = StructType(
    [StructField("incarnation", StringType()), StructField("transaction", LongType())]
)

WRITER = ("producer", "producer_incarnation", "seq")


def decide(history: History) -> History:
    """Return the history with the fate of undecided deliveries where their output tells it.

    Committed: any record of the transaction lies in the log as committed, or was delivered to a
    read_committed group. Nothing decides the contrary: a transaction without such a record may
    have been aborted, or its output lost.
    """
    groups = groups_of(history.run)
    if not any(group.transactional for group in groups):
        return history
    pending = (
        history.consume.filter(
            (sf.col("outcome") == DeliveryOutcome.UNKNOWN) & sf.col("transaction").isNotNull()
        )
        .select("incarnation", "transaction")
        .distinct()
    )
    # An incarnation ends with the first transaction it cannot decide.
    known = [tuple(row) for row in pending.collect()]
    if not known:
        return history
    spark = history.consume.sparkSession
    written = history.produce.withColumnRenamed("producer_incarnation", "incarnation").join(
        sf.broadcast(local_rows.frame(spark, known, _SCHEMA)), ["incarnation", "transaction"]
    )
    sends = sf.broadcast(
        written.select("producer", sf.col("incarnation").alias(WRITER[1]), "seq", "transaction")
    )
    committed_only = [group.name for group in groups if group.committed_only]
    seen = (
        history.log.filter(ours(history.run) & (sf.col("state") == LogState.COMMITTED))
        .select(*WRITER)
        .unionAll(
            history.consume.filter(
                ours(history.run)
                & (sf.col("outcome") == DeliveryOutcome.OK)
                & sf.col("group").isin(committed_only)
            ).select(*WRITER)
        )
    )
    found = seen.join(sends, list(WRITER)).select(WRITER[1], "transaction").distinct().collect()
    if not found:
        return history
    decided = local_rows.frame(spark, [tuple(row) for row in sorted(found)], _SCHEMA)
    return replace(
        history,
        consume=_turned(
            history.consume, decided, "outcome", {DeliveryOutcome.UNKNOWN: DeliveryOutcome.OK}
        ),
        consumer_events=_turned(
            history.consumer_events,
            decided,
            "event",
            {ConsumerEvent.COMMIT_UNKNOWN: ConsumerEvent.COMMITTED},
        ),
    )


def _turned(rows: DataFrame, decided: DataFrame, name: str, turns: dict[str, str]) -> DataFrame:
    """Return rows with a column turned where their transaction was committed."""
    marked = sf.broadcast(decided.withColumn("decided", sf.lit(col=True)))
    value: Column = sf.col(name)
    for before, after in turns.items():
        turned = sf.col("decided") & (sf.col(name) == before)
        value = sf.when(turned, sf.lit(after)).otherwise(value)
    columns = rows.columns
    joined = rows.join(marked, ["incarnation", "transaction"], "left").withColumn(name, value)
    return joined.select(*columns)
