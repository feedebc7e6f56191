"""The history of a run, built from its evidence: records, reading, ownership, replicas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from krt_scoring.engine.concurrency import in_background
from krt_scoring.history import facts as facts_module
from krt_scoring.history import ownership as ownership_module
from krt_scoring.history import reading as reading_module
from krt_scoring.history import records as records_module
from krt_scoring.history import replicas as replicas_module
from krt_scoring.history import transactions, unreadable
from krt_scoring.inputs.fault_windows import fault_windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.ownership import Ownership
    from krt_scoring.history.reading import Reading
    from krt_scoring.history.records import Records
    from krt_scoring.history.replicas import Partition
    from krt_scoring.history.tables import Tables
    from krt_scoring.inputs.fault_windows import FaultWindow


@dataclass(frozen=True)
class History:
    """What happened to every record of a run.

    Attributes:
        tables: the evidence, with undecided transactions decided and unreadable payloads named
            where the evidence shows how.
        facts: what does not grow with the records.
        faults: the faults that were injected, in order.
        records: what became of each record.
        reading: how the consumers read.
        ownership: who owned which partition.
    """

    tables: Tables
    facts: Facts
    faults: tuple[FaultWindow, ...]
    records: Records
    reading: Reading
    ownership: Ownership

    @cached_property
    def replicas(self) -> tuple[Partition, ...]:
        """The dump of each partition's replicas; empty where the run did not ask for it."""
        return replicas_module.collect(self.tables, self.facts)

    @cached_property
    def differing_replicas(self) -> list[tuple[int, int]]:
        """(topic-partition, bucket) wherever replicas in sync may differ."""
        return replicas_module.differing(self.tables, self.facts, self.replicas)

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self.tables.spark

    def release(self) -> None:
        """Release the cached rows."""
        self.records.release()
        self.reading.release()


def build(evidence: Tables) -> History:
    """Build the history; some small collects and one pass over the records."""
    tables = transactions.decide(unreadable.identify(evidence))
    facts = facts_module.collect(tables)
    faults = tuple(item for item in fault_windows(tables.timeline) if item.injected)
    with in_background(tables.spark, partial(_consumers, tables, facts)) as consumers:
        records, complete = records_module.build(tables, facts, faults)
    reading, ownership = consumers.result()
    return History(
        tables=tables,
        facts=complete,
        faults=faults,
        records=records,
        reading=reading,
        ownership=ownership,
    )


def _consumers(tables: Tables, facts: Facts) -> tuple[Reading, Ownership]:
    reading = reading_module.build(tables, facts)
    return reading, ownership_module.collect(tables, facts, reading.starts)
