"""The records of a run: one row each, counted, and the few that are anomalous with every column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from krt_scoring.engine import local_rows
from krt_scoring.engine.caching import cache
from krt_scoring.engine.dataframes import coalesced
from krt_scoring.history import (
    aggregation,
    delivery_places,
    incarnations,
    ledger_identity,
    outcomes,
    packing,
    tally,
)
from krt_scoring.history.positions import offset_of, partition_of, tp_of
from krt_scoring.history.record_columns import first_delivered_at
from krt_scoring.inputs.client_settings import producer_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from krt_scoring.engine.caching import Cached
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.ledger_identity import Totals
    from krt_scoring.history.tables import Tables
    from krt_scoring.inputs.fault_windows import FaultWindow

FEW = 100_000
"""Suspects whose positions, some 16 bytes each, are cheaper to send everywhere (10 MB at most,
Spark's own limit for a broadcast) than all deliveries are to put in order."""

NAMES = StructType(
    [
        StructField("pk", LongType(), nullable=False),
        StructField("producer", StringType()),
        StructField("producer_incarnation", StringType()),
        StructField("acks", StringType()),
        StructField("idempotent", BooleanType()),
        StructField("retries", BooleanType()),
        StructField("in_flight", IntegerType()),
    ]
)
"""``retries``: whether the client retries by itself; ``in_flight``: requests at a time."""


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a run.

    Attributes:
        rows: one row a record, with the columns of ``packing.pack``.
        anomalous: the records that are not clean, with every column of ``outcomes.judge``.
        suspects: the anomalous records with topic, partition, offset, names and settings of their
            producer, and ``first_delivered_at``, UTC µs.
        totals: counts of the records; by these, rules that have nothing to find are left out.
        names: one row a producer incarnation: ``pk``, names, settings.
        deliveries: every delivery of the records that may have been delivered from where the log
            does not hold them (``delivery_places.find``); None where there are none.
        cached: rows, anomalous records and their deliveries.
    """

    rows: DataFrame
    anomalous: DataFrame
    suspects: DataFrame
    totals: Totals
    names: DataFrame
    deliveries: DataFrame | None
    cached: tuple[Cached, ...]

    def few(self, rows: DataFrame) -> DataFrame:
        """Return rows that are no more than a few for each suspect, to be joined with.

        Up to ``FEW`` suspects they are broadcast, so that the larger side is not shuffled.
        """
        return _few(rows, self.totals["suspects"])

    def release(self) -> None:
        """Release the cached rows."""
        for item in self.cached:
            item.release()


def _few(rows: DataFrame, count: int) -> DataFrame:
    return sf.broadcast(rows) if count <= FEW else rows


def build(tables: Tables, facts: Facts, faults: tuple[FaultWindow, ...]) -> tuple[Records, Facts]:
    """Build the records; return them, and the facts with what the records tally up to."""
    judged = outcomes.judge(aggregation.build(tables, facts), facts, faults)
    packed = cache(packing.pack(judged, facts))
    rows, cached, deliveries = packed.rows, [packed], None
    tallies = tally.count(rows)
    doubtful = sum(item.elsewhere for item in tallies)
    if doubtful:
        few = partial(_few, count=doubtful)
        elsewhere = packing.elsewhere(rows)
        looked_up = cache(delivery_places.find(elsewhere, tables, facts, few))
        deliveries = looked_up.rows
        placed = delivery_places.corrected(elsewhere, deliveries, facts, few)
        corrected = cache(packing.pack(outcomes.with_outcome(placed, facts, faults), facts))
        rows = packing.in_place(rows).unionAll(corrected.rows)
        cached += [looked_up, corrected]
        tallies = tally.count(rows)
    facts = incarnations.with_incarnations(facts, tables, tallies)
    odd = coalesced(packing.anomalous(rows), sum(item.anomalous for item in tallies))
    anomalous = cache(odd)
    names = _names(tables.spark, facts)
    suspects = with_names(anomalous.rows, names, facts)
    records = Records(
        rows=rows,
        anomalous=anomalous.rows,
        suspects=suspects.withColumn("first_delivered_at", first_delivered_at(facts)),
        totals=ledger_identity.count(tallies, anomalous.rows, facts),
        names=names,
        deliveries=deliveries,
        cached=(*cached, anomalous),
    )
    return records, facts


def _names(spark: SparkSession, facts: Facts) -> DataFrame:
    rows = []
    for key in sorted(facts.incarnations):
        item = facts.incarnations[key]
        settings = producer_settings(facts.run, item.producer)
        rows.append(
            (
                key,
                item.producer,
                item.incarnation,
                settings.acks,
                settings.idempotent,
                settings.retries,
                settings.in_flight,
            )
        )
    return local_rows.frame(spark, rows, NAMES)


def with_offsets(rows: DataFrame, facts: Facts) -> DataFrame:
    """Return rows that have ``position`` with topic, partition and offset."""
    tp = tp_of(sf.col("position"))
    return rows.withColumns(
        {
            "topic": facts.positions.topic_column(tp),
            "partition": partition_of(tp),
            "offset": offset_of(sf.col("position")),
        }
    )


def with_names(rows: DataFrame, names: DataFrame, facts: Facts) -> DataFrame:
    """Return rows that have ``pk, position, tp`` with names: producer, topic, partition, offset."""
    return rows.join(sf.broadcast(names), "pk", "left").withColumns(
        {
            "topic": facts.positions.topic_column(sf.col("tp")),
            "partition": partition_of(sf.col("tp")),
            "offset": offset_of(sf.col("position")),
        }
    )
