"""Everything the rules share, built once for a history."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
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

from krt_scoring.allowances import consequences
from krt_scoring.allowances import truncations as truncations_module
from krt_scoring.allowances.settings import Settings, of_identity
from krt_scoring.engine import local_rows
from krt_scoring.engine.caching import hold
from krt_scoring.engine.concurrency import beside
from krt_scoring.engine.session import ROWS_PER_PARTITION
from krt_scoring.history import facts as facts_module
from krt_scoring.history import faults as faults_module
from krt_scoring.history import (
    incarnations,
    ledger_identity,
    ledger_tally,
    outcomes,
    ownership,
    packed,
    reading,
    transactions,
)
from krt_scoring.history import records as records_module
from krt_scoring.history import replicas as replicas_module
from krt_scoring.history.positions import offset_of, partition_of, tp_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pyspark.sql import DataFrame, SparkSession

    from krt_scoring.allowances.consequences import Spans
    from krt_scoring.allowances.truncations import Truncation
    from krt_scoring.engine.caching import Held
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.faults import FaultWindow
    from krt_scoring.history.ledger_identity import Totals
    from krt_scoring.history.ownership import Extent
    from krt_scoring.history.reading import Reading
    from krt_scoring.history.replicas import Partition
    from krt_scoring.history.tables import History


@dataclass(frozen=True)
class Base:
    """The base tables of one history.

    Attributes:
        records: one row a record (``derive.packed``).
        suspects: the records that are not clean (``derive.fates``), with names and settings of
            their producer, and ``first_handed``, when any group first got them, UTC µs.
        odd: what is costly of it.
        held: records and ``odd``, cached.
        totals: what the records count up to; lets rules stay away that have nothing to find.
        names: one row a producer incarnation: ``pk``, names, settings.
        truncations: the cuts elections may have made; empty where everything acked or delivered
            lies where it was told, since then no rule has a consequence to excuse.
        spans: where those cuts permit consequences, per group and partition.
        reading: what the consumers did.
    """

    history: History
    facts: Facts
    faults: tuple[FaultWindow, ...]
    records: DataFrame
    suspects: DataFrame
    odd: DataFrame
    held: tuple[Held, ...]
    totals: Totals
    names: DataFrame
    truncations: tuple[Truncation, ...]
    spans: Spans
    reading: Reading

    @cached_property
    def replicas(self) -> tuple[Partition, ...]:
        """What was dumped of each partition's replicas; empty where that was not asked for."""
        return replicas_module.collect(self.history, self.facts)

    @cached_property
    def apart(self) -> list[tuple[int, int]]:
        """(topic-partition, bucket) wherever replicas in sync may not be alike."""
        return replicas_module.differing(self.history, self.facts, self.replicas)

    @cached_property
    def owned_table(self) -> DataFrame:
        """The ownerships as a DataFrame."""
        return ownership.table(self.spark, self.reading.owned)

    @cached_property
    def extents(self) -> tuple[Extent, ...]:
        """What was done in each ownership, by group, partition and number."""
        return ownership.extents(self.history, self.facts, self.owned_table)

    @cached_property
    def activity(self) -> dict[int, int]:
        """Number of an ownership → when it last handed out or committed anything, UTC µs."""
        return {item.interval: item.last_at for item in self.extents if item.interval is not None}

    @cached_property
    def activity_table(self) -> DataFrame:
        """``interval, last_at``: the same as a DataFrame."""
        rows = sorted(self.activity.items())
        return local_rows.frame(self.spark, rows, "interval int, last_at long")

    def few(self, rows: DataFrame) -> DataFrame:
        """Return rows that are no more than a few for each suspect, to be joined with.

        Up to ``FEW`` suspects they are sent to wherever the larger side lies, which is then not
        moved at all.
        """
        return sf.broadcast(rows) if self.totals["suspects"] <= FEW else rows

    def release(self) -> None:
        """Give back what was cached."""
        for one in self.held:
            one.release()
        self.reading.release()

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self.records.sparkSession


FEW = 100_000
"""Suspects whose places, some 16 bytes each, are cheaper to send everywhere (10 MB at most, which
is also what Spark takes for few) than all deliveries are to put in order."""

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


def build(history: History) -> Base:
    """Build the base tables; some small collects and one pass over the records."""
    history = transactions.decide(history)
    facts = facts_module.collect(history)
    spark = history.produce.sparkSession
    with beside(spark, partial(reading.build, history, facts)) as read:
        return _with_records(history, facts, read)


def _with_records(history: History, facts: Facts, read: Future[Reading]) -> Base:
    """Build the tables of the records while those of the consumers are being built."""
    faults = faults_module.windows(history)
    judged = outcomes.judge(records_module.build(history, facts), facts, faults)
    packs = hold(packed.pack(judged, facts))
    records = packs.rows
    tallies = ledger_tally.take(records)
    facts = incarnations.told(facts, history, tallies)
    odd = hold(gathered(packed.odd(records), sum(item.odd for item in tallies)))
    totals = ledger_identity.count(tallies, odd.rows, facts)
    names = _names(records.sparkSession, facts)
    gone = totals["missing"] or totals["vanished"] or totals["misplaced"]
    cuts = truncations_module.derive(history, facts, records, names) if gone else ()
    suspects = named(odd.rows, names, facts)
    suspects = suspects.withColumn("first_handed", records_module.first_handed(facts))
    suspects = truncations_module.with_cuts(suspects, cuts)
    spans: Spans = {}
    if totals["vanished"] or totals["misplaced"]:
        spans = consequences.derive(suspects, facts, cuts)
    return Base(
        history=history,
        facts=facts,
        faults=faults,
        records=records,
        suspects=suspects,
        odd=odd.rows,
        held=(packs, odd),
        totals=totals,
        names=names,
        truncations=cuts,
        spans=spans,
        reading=read.result(),
    )


def gathered(few: DataFrame, rows: int) -> DataFrame:
    """Return what is left of all records in as few partitions as its number of rows needs.

    A task for each partition of all records would have next to nothing to read.
    """
    slots = few.sparkSession.sparkContext.defaultParallelism
    return few.coalesce(max(slots, -(-rows // ROWS_PER_PARTITION)))


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
            )
        )
    return local_rows.frame(spark, rows, NAMES)


def located(rows: DataFrame, facts: Facts) -> DataFrame:
    """Return rows with ``place`` with topic, partition and offset."""
    tp = tp_of(sf.col("place"))
    return rows.withColumns(
        {
            "topic": facts.places.topic_column(tp),
            "partition": partition_of(tp),
            "offset": offset_of(sf.col("place")),
        }
    )


def named(rows: DataFrame, names: DataFrame, facts: Facts) -> DataFrame:
    """Return rows with ``pk, place, tp`` with names: producer, topic, partition, offset."""
    return rows.join(sf.broadcast(names), "pk", "left").withColumns(
        {
            "topic": facts.places.topic_column(sf.col("tp")),
            "partition": partition_of(sf.col("tp")),
            "offset": offset_of(sf.col("place")),
        }
    )
