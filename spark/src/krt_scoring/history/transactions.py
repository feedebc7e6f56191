"""Deciding what a transforming consumer could not record of its last transaction.

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
from krt_scoring.history.groups import groups_of
from krt_scoring.history.identity import ours

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.tables import Tables

_SCHEMA = StructType(
    [StructField("incarnation", StringType()), StructField("transaction", LongType())]
)

_OUTCOMES = {DeliveryOutcome.UNKNOWN.value: DeliveryOutcome.OK.value}
_EVENTS = {ConsumerEvent.COMMIT_UNKNOWN.value: ConsumerEvent.COMMITTED.value}
"""What an undecided transaction left → what it is once that is known to be committed."""

WRITER = ("producer", "producer_incarnation", "seq")


def decide(tables: Tables) -> Tables:
    """Return the evidence with undecided deliveries decided where their output shows how.

    Committed: any record of the transaction lies in the log as committed, or was delivered to a
    read_committed group. Nothing decides the contrary: a transaction without such a record may
    have been aborted, or its output lost.
    """
    groups = groups_of(tables.run)
    if not any(group.transactional for group in groups):
        return tables
    pending = (
        tables.consume.filter(
            (sf.col("outcome") == DeliveryOutcome.UNKNOWN.value) & sf.col("transaction").isNotNull()
        )
        .select("incarnation", "transaction")
        .distinct()
    )
    # An incarnation ends with the first transaction it cannot decide.
    known = [tuple(row) for row in pending.collect()]
    if not known:
        return tables
    spark = tables.consume.sparkSession
    written = tables.produce.withColumnRenamed("producer_incarnation", "incarnation").join(
        sf.broadcast(local_rows.frame(spark, known, _SCHEMA)), ["incarnation", "transaction"]
    )
    sends = sf.broadcast(
        written.select("producer", sf.col("incarnation").alias(WRITER[1]), "seq", "transaction")
    )
    committed_only = [group.name for group in groups if group.committed_only]
    seen = (
        tables.log.filter(ours(tables.run) & (sf.col("state") == LogState.COMMITTED.value))
        .select(*WRITER)
        .unionAll(
            tables.consume.filter(
                ours(tables.run)
                & (sf.col("outcome") == DeliveryOutcome.OK.value)
                & sf.col("group").isin(committed_only)
            ).select(*WRITER)
        )
    )
    found = seen.join(sends, list(WRITER)).select(WRITER[1], "transaction").distinct().collect()
    if not found:
        return tables
    decided = local_rows.frame(spark, [tuple(row) for row in sorted(found)], _SCHEMA)
    return replace(
        tables,
        consume=_turned(tables.consume, decided, "outcome", _OUTCOMES),
        consumer_events=_turned(tables.consumer_events, decided, "event", _EVENTS),
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
