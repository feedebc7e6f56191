"""precommitted-read: a transaction reads its own write, in a read_committed group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.derive import ownership
from krt_scoring.derive.base import located
from krt_scoring.derive.facts import key
from krt_scoring.findings import finding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.derive.base import Base

NAME = "precommitted-read"


def possible(base: Base) -> bool:
    """Whether anybody who reads only committed records sends in transactions too."""
    committed = {group.index for group in base.facts.groups if group.committed_only}
    readers = {member.incarnation for member in base.members if member.group in committed}
    senders = {item.incarnation for item in base.facts.incarnations.values()}
    return base.facts.run.transactional and not readers.isdisjoint(senders)


def find(base: Base) -> DataFrame:
    """Return one finding a record.

    A pod that consumes, transforms and produces has one uid for both its sides and one
    monotonic clock: a delivery of its own write before the last send of that write's
    transaction was read before it was committed.
    """
    committed = [group.index for group in base.facts.groups if group.committed_only]
    sends = base.history.produce.filter(sf.col("transaction").isNotNull()).withColumn("pk", key())
    last = sends.groupBy("pk", "transaction").agg(sf.max("sent_mono").alias("last_sent"))
    own = base.history.consume.filter(
        (sf.col("outcome") == "ok") & (sf.col("incarnation") == sf.col("producer_incarnation"))
    ).withColumns({"pk": key(), "place": base.facts.places.column()})
    own = ownership.located(own, base.facts).filter(sf.col("group_index").isin(committed))
    early = (
        # The transaction of the write is asked for, not the one it was read in.
        own.drop("transaction")
        .join(sends.select("pk", "seq", "transaction"), ["pk", "seq"])
        .join(last, ["pk", "transaction"])
        .filter(sf.col("handed_mono") < sf.col("last_sent"))
        .groupBy("producer", "producer_incarnation", "seq", "group")
        .agg(sf.min("place").alias("place"))
    )
    return finding(NAME, located(early, base.facts), grp="group")
