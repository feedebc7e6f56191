"""Waits: how long an operation was due on a partition and none succeeded.

A wait ends with a success on the partition. It begins with the success before it, or, if nothing
was outstanding then, when the next operation became due. It is what a queue's server takes for one
customer, so it does not grow while operations queue up behind it: an outage is one long wait, and
whatever had been queueing before adds nothing to it. So a wait is longer than the outage in it by
at most the time between two successes.

Operations are first folded into slots, so that only slots, not records, are put in order. Waits
within one slot are not seen; each of them is shorter than the slot, whatever the others are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from krt_scoring.inputs.fault_windows import during_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from krt_scoring.inputs.fault_windows import FaultWindow

SLOT_MICROS = 50_000
"""µs of a slot: twenty in a second, so that few slots are sorted however many records there are,
and half of the least detection limit, so that no gap fits into one."""

KEY = ("lane", "tp")


def waits(rows: DataFrame, steady: int, windows: Sequence[FaultWindow]) -> DataFrame:
    """Return the waits of each lane and partition, from the steady state on.

    Columns: ``lane, tp``; ``start``; ``done``, null where nothing succeeded any more; ``given_up``,
    when the last operation of such a wait ended without success; of the operations that became due
    in the wait, ``scheduled``, how many there were, and ``progress``, how many of them were due
    while a fault was open and were done. Where nothing was due behind the last success, the last
    row of a partition has no ``start``.

    Args:
        rows: operations (``krt_scoring.metrics.operations``).
        steady: when traffic was established, UTC µs. What was due earlier counts as due then.
        windows: the faults.
    """
    order = Window.partitionBy(*KEY).orderBy("slot")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    slots = (
        _slots(rows, steady, windows)
        .withColumn("pending", sf.coalesce(sf.sum("change").over(before), sf.lit(0)))
        .withColumn("previous", sf.max("last_done").over(before))
        .withColumn("number", sf.count("first_done").over(before))
    )
    found = slots.groupBy(*KEY, "number").agg(
        sf.min_by("pending", "slot").alias("pending"),
        sf.min("previous").alias("previous"),
        sf.min("first_due").alias("first_due"),
        sf.min("first_done").alias("done"),
        sf.max("given_up").alias("given_up"),
        sf.sum("scheduled").alias("scheduled"),
        sf.sum("progress").alias("progress"),
    )
    outstanding = sf.when(sf.col("pending") > 0, sf.col("previous"))
    return found.select(
        *KEY,
        sf.coalesce(outstanding, "first_due").alias("start"),
        *("done", "given_up", "scheduled", "progress"),
    )


def _slots(rows: DataFrame, steady: int, windows: Sequence[FaultWindow]) -> DataFrame:
    """Return the slots in which an operation of a partition became due or ended."""
    own = sf.col("due") >= steady
    progress = own & sf.col("done").isNotNull()
    progress &= during_column(sf.col("due"), sf.col("due"), windows)
    begun = sf.greatest("due", sf.lit(steady).cast("long"))
    pairs = (
        rows.where("tp IS NOT NULL")
        .withColumn("closed", sf.greatest(sf.coalesce("done", "ended"), "due"))
        .where(sf.col("closed") >= steady)
        .withColumn("begun", begun)
        # Most operations end in the slot in which they became due or in the next one: far fewer
        # rows than twice the operations.
        .groupBy(
            *KEY,
            sf.expr(f"begun div {SLOT_MICROS}").alias("due_slot"),
            sf.expr(f"closed div {SLOT_MICROS}").alias("end_slot"),
            sf.col("done").isNotNull().alias("succeeded"),
        )
        .agg(
            sf.count("*").alias("operations"),
            sf.count_if(own).alias("scheduled"),
            sf.count_if(progress).alias("progress"),
            sf.min("begun").alias("first_due"),
            sf.min("closed").alias("first"),
            sf.max("closed").alias("last"),
        )
    )
    nothing, never = sf.lit(0).cast("long"), sf.lit(None).cast("long")
    opened = sf.struct(
        sf.col("due_slot").alias("slot"),
        sf.col("operations").alias("change"),
        sf.col("scheduled"),
        sf.col("progress"),
        sf.col("first_due"),
        never.alias("first_done"),
        never.alias("last_done"),
        never.alias("given_up"),
    )
    ended = sf.struct(
        sf.col("end_slot").alias("slot"),
        (-sf.col("operations")).alias("change"),
        nothing.alias("scheduled"),
        nothing.alias("progress"),
        never.alias("first_due"),
        sf.when(sf.col("succeeded"), sf.col("first")).alias("first_done"),
        sf.when(sf.col("succeeded"), sf.col("last")).alias("last_done"),
        sf.when(~sf.col("succeeded"), sf.col("last")).alias("given_up"),
    )
    return (
        pairs.select(*KEY, sf.inline(sf.array(opened, ended)))
        .groupBy(*KEY, "slot")
        .agg(
            sf.sum("change").alias("change"),
            sf.sum("scheduled").alias("scheduled"),
            sf.sum("progress").alias("progress"),
            sf.min("first_due").alias("first_due"),
            sf.min("first_done").alias("first_done"),
            sf.max("last_done").alias("last_done"),
            sf.max("given_up").alias("given_up"),
        )
    )
