"""Deciding what a transforming consumer could not record of its last transaction.

Its deliveries count when their transaction was committed. A member that dies in between leaves
them unknown; but the offsets and what it made of the records were committed together or not at
all, so that any of its output seen as committed decides for all its input.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

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
_DECIDED = StructType([*_SCHEMA.fields, StructField("decided", BooleanType())])

_OUTCOMES = {
    DeliveryOutcome.UNKNOWN.value: (DeliveryOutcome.OK.value, DeliveryOutcome.FAILED.value)
}
_EVENTS = {
    ConsumerEvent.COMMIT_UNKNOWN.value: (
        ConsumerEvent.COMMITTED.value,
        ConsumerEvent.COMMIT_FAILED.value,
    )
}
"""What an undecided transaction left → what it is if that was committed, and if it was aborted."""

WRITER = ("producer_incarnation", "seq")
"""What identifies a record of a transforming consumer: incarnations are pod uids."""


def decide(tables: Tables) -> Tables:
    """Return the evidence with undecided deliveries decided where their output shows how.

    Committed: any record of the transaction lies in the log as committed, or was delivered to a
    read_committed group. Aborted: none does, and one lies in the log as aborted. Else nothing
    decides: it may have been aborted, or its output lost.
    """
    groups = groups_of(tables.run)
    if not any(group.transactional for group in groups):
        return tables
    undecided = sf.col("outcome") == DeliveryOutcome.UNKNOWN.value
    unknown = sf.col("event") == ConsumerEvent.COMMIT_UNKNOWN.value
    pending = (
        tables.consume.filter(undecided & sf.col("transaction").isNotNull())
        .select("incarnation", "transaction")
        .unionAll(
            tables.consumer_events.filter(unknown & sf.col("transaction").isNotNull()).select(
                "incarnation", "transaction"
            )
        )
        .distinct()
    )
    # An incarnation ends with the first transaction it cannot decide.
    known = [tuple(row) for row in pending.collect()]
    if not known:
        return tables
    spark = tables.consume.sparkSession
    asked = sf.broadcast(local_rows.frame(spark, known, _SCHEMA))
    # A member that died may not have written the rows of its last sends.
    named = tables.consume.filter(sf.col("output_seq").isNotNull()).select(
        "incarnation", "transaction", sf.col("output_seq").alias("seq")
    )
    written = (
        tables.produce.withColumnRenamed("producer_incarnation", "incarnation")
        .select("incarnation", "transaction", "seq")
        .unionAll(named)
        .join(asked, ["incarnation", "transaction"])
        .distinct()
    )
    sends = sf.broadcast(written.withColumnRenamed("incarnation", WRITER[0]))
    committed_only = [group.name for group in groups if group.committed_only]
    mine = ours(tables.run)
    state = sf.col("state")
    seen = (
        tables.log.filter(mine & state.isin(LogState.COMMITTED.value, LogState.ABORTED.value))
        .select(*WRITER, (state == LogState.COMMITTED.value).alias("committed"))
        .unionAll(
            tables.consume.filter(
                mine
                & (sf.col("outcome") == DeliveryOutcome.OK.value)
                & sf.col("group").isin(committed_only)
            ).select(*WRITER, sf.lit(col=True))
        )
    )
    found = (
        seen.join(sends, list(WRITER))
        .groupBy(WRITER[0], "transaction")
        .agg(sf.max("committed").alias("committed"))
        .collect()
    )
    if not found:
        return tables
    rows = sorted((row[WRITER[0]], row["transaction"], row["committed"]) for row in found)
    decided = local_rows.frame(spark, rows, _DECIDED)
    return replace(
        tables,
        consume=_turned(tables.consume, decided, "outcome", _OUTCOMES),
        consumer_events=_turned(tables.consumer_events, decided, "event", _EVENTS),
    )


def _turned(
    rows: DataFrame, decided: DataFrame, name: str, turns: dict[str, tuple[str, str]]
) -> DataFrame:
    """Return rows with a column turned where their transaction was decided."""
    value: Column = sf.col(name)
    for before, (committed, aborted) in turns.items():
        turned = sf.when(sf.col("decided"), sf.lit(committed)).otherwise(sf.lit(aborted))
        here = sf.col("decided").isNotNull() & (sf.col(name) == before)
        value = sf.when(here, turned).otherwise(value)
    columns = rows.columns
    marked = sf.broadcast(decided)
    joined = rows.join(marked, ["incarnation", "transaction"], "left").withColumn(name, value)
    return joined.select(*columns)
