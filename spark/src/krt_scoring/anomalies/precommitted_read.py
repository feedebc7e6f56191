"""precommitted-read: a transaction reads its own write, in a read_committed group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import DeliveryOutcome
from krt_scoring.anomalies.findings import finding
from krt_scoring.history import ownership
from krt_scoring.history.base import located
from krt_scoring.history.facts import key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.history.base import Base

NAME = "precommitted-read"


def possible(base: Base) -> bool:
    """Whether anybody who reads only committed records was handed one of its own writes.

    Looking for those first is far less than putting every transaction in order for nothing.
    """
    committed = any(group.committed_only for group in base.facts.groups)
    return base.facts.run.transactional and committed and not _own(base).isEmpty()


def _own(base: Base) -> DataFrame:
    """Return the ok deliveries of what the same pod wrote."""
    return base.history.consume.filter(
        (sf.col("outcome") == DeliveryOutcome.OK)
        & (sf.col("incarnation") == sf.col("producer_incarnation"))
    )


def find(base: Base) -> DataFrame:
    """Return one finding a record.

    A pod that consumes, transforms and produces has one uid for both its sides and one
    monotonic clock: a delivery of its own write before the last send of that write's
    transaction was read before it was committed.
    """
    committed = [group.index for group in base.facts.groups if group.committed_only]
    sends = base.history.produce.filter(sf.col("transaction").isNotNull()).withColumn("pk", key())
    last = sends.groupBy("pk", "transaction").agg(sf.max("sent_mono").alias("last_sent"))
    own = _own(base).withColumns({"pk": key(), "place": base.facts.places.column()})
    own = ownership.located(own, base.facts).filter(sf.col("group_index").isin(committed))
    early = (
        # The transaction of the write is asked for, not the one it was read in.
        own.drop("transaction")
        .join(sends.select("pk", "seq", "transaction"), ["pk", "seq"])
        .join(last, ["pk", "transaction"])
        .filter(sf.col("delivered_mono") < sf.col("last_sent"))
        .groupBy("producer", "producer_incarnation", "seq", "group")
        .agg(sf.min("place").alias("place"))
    )
    return finding(NAME, located(early, base.facts), grp="group")
