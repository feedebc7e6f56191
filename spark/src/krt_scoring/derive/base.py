"""Everything the rules share, built once for a history."""

from __future__ import annotations

from dataclasses import dataclass
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

from krt_scoring.derive import facts as facts_module
from krt_scoring.derive import faults as faults_module
from krt_scoring.derive import records as records_module
from krt_scoring.derive.places import offset_of, partition_of
from krt_scoring.expectations import truncations as truncations_module
from krt_scoring.expectations.settings import Settings, of_identity
from krt_scoring.ledger import identity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from krt_scoring.derive.facts import Facts
    from krt_scoring.derive.faults import FaultWindow
    from krt_scoring.expectations.truncations import Truncation
    from krt_scoring.history import History
    from krt_scoring.ledger.identity import Totals


@dataclass(frozen=True, slots=True)
class Base:
    """The base tables of one history.

    Attributes:
        records: one row a record (``derive.records``), cached.
        suspects: the records that are not clean, with names and settings of their producer.
        totals: what the records count up to; lets rules stay away that have nothing to find.
        names: one row a producer incarnation: ``pk``, names, settings, close.
        truncations: the cuts elections may have made; empty where nothing acked or delivered
            is missing, since then no rule has a consequence to excuse.
    """

    history: History
    facts: Facts
    faults: tuple[FaultWindow, ...]
    records: DataFrame
    suspects: DataFrame
    totals: Totals
    names: DataFrame
    truncations: tuple[Truncation, ...]

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self.records.sparkSession


NAMES = StructType(
    [
        StructField("pk", LongType(), nullable=False),
        StructField("producer", StringType()),
        StructField("producer_incarnation", StringType()),
        StructField("acks", StringType()),
        StructField("idempotent", BooleanType()),
        StructField("retries", BooleanType()),
        StructField("in_flight", IntegerType()),
        StructField("attempted", LongType()),
        StructField("closed", BooleanType()),
    ]
)
"""``retries``: whether the client retries by itself; ``in_flight``: requests at a time."""


def build(history: History) -> Base:
    """Build the base tables; three small collects and one pass over the records."""
    facts = facts_module.collect(history)
    faults = faults_module.windows(history)
    records = records_module.build(history, facts, faults).persist()
    totals = identity.count(records, facts)
    names = _names(records.sparkSession, facts)
    gone = totals["missing"] or totals["vanished"]
    cuts = truncations_module.derive(history, facts, records) if gone else ()
    suspects = named(records.filter(~sf.col("clean")), names, facts)
    suspects = truncations_module.with_cuts(suspects, cuts)
    return Base(history, facts, faults, records, suspects, totals, names, cuts)


def _names(spark: SparkSession, facts: Facts) -> DataFrame:
    rows = []
    for key in sorted(facts.incarnations):
        item = facts.incarnations[key]
        settings: Settings = of_identity(facts.run, item.producer)
        rows.append(
            (
                key,
                item.producer,
                item.incarnation,
                settings.acks,
                settings.idempotent,
                settings.retries,
                settings.in_flight,
                item.attempted,
                item.close is not None,
            )
        )
    return spark.createDataFrame(rows, NAMES)


def named(rows: DataFrame, names: DataFrame, facts: Facts) -> DataFrame:
    """Return rows with ``pk, place, tp`` with names: producer, topic, partition, offset."""
    return (
        rows.join(sf.broadcast(names), "pk", "left")
        .withColumn("topic", facts.places.topic_column(sf.col("tp")))
        .withColumn("partition", partition_of(sf.col("tp")))
        .withColumn("offset", offset_of(sf.col("place")))
    )
