"""precommitted-read: a transaction reads its own write, in a read_committed group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import DeliveryOutcome
from krt_scoring.anomalies.schema import finding
from krt_scoring.history import intervals
from krt_scoring.history.identity import key
from krt_scoring.history.records import with_offsets
from krt_scoring.inputs.evidence import CONSUME, PRODUCE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context

NAME = "precommitted-read"


def possible(ctx: Context) -> bool:
    """Whether a member that reads only committed records was delivered one of its own writes.

    Looking for those first is far less than putting every transaction in order for nothing.
    """
    committed = any(group.committed_only for group in ctx.history.facts.groups)
    if not (committed and ctx.history.facts.run.transactional):
        return False
    writers = ctx.history.tables.writers
    if PRODUCE in writers and CONSUME in writers and not writers[PRODUCE] & writers[CONSUME]:
        return False
    return not _own(ctx).isEmpty()


def _own(ctx: Context) -> DataFrame:
    """Return the ok deliveries of what the same pod wrote."""
    return ctx.history.tables.consume.filter(
        (sf.col("outcome") == DeliveryOutcome.OK.value)
        & (sf.col("incarnation") == sf.col("producer_incarnation"))
    )


def find(ctx: Context) -> DataFrame:
    """Return one finding a record.

    A pod that consumes, transforms and produces has one uid for both its sides and one
    monotonic clock: a delivery of its own write before the last send of that write's
    transaction was read before it was committed.
    """
    committed = [group.index for group in ctx.history.facts.groups if group.committed_only]
    sends = ctx.history.tables.produce.filter(sf.col("transaction").isNotNull()).withColumn(
        "pk", key()
    )
    last = sends.groupBy("pk", "transaction").agg(sf.max("sent_mono").alias("last_sent"))
    own = _own(ctx).withColumns({"pk": key(), "position": ctx.history.facts.positions.column()})
    own = intervals.with_lane(own, ctx.history.facts).filter(sf.col("group_index").isin(committed))
    early = (
        # The transaction of the write is asked for, not the one it was read in.
        own.drop("transaction")
        .join(sends.select("pk", "seq", "transaction"), ["pk", "seq"])
        .join(last, ["pk", "transaction"])
        .filter(sf.col("delivered_mono") < sf.col("last_sent"))
        .groupBy("producer", "producer_incarnation", "seq", "group")
        .agg(sf.min("position").alias("position"))
    )
    return finding(NAME, with_offsets(early, ctx.history.facts), grp="group")
