"""replica-divergence: replicas in sync that hold different things below the high watermark.

Nothing permits it: an unclean election or lost storage takes records away from all who are in
sync afterwards, and whoever was not is not compared. A replica in sync that lacks an offset differs
like one that holds another batch there, since the high watermark never passes its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.anomalies.schema import finding
from krt_scoring.engine import local_rows
from krt_scoring.history import replicas
from krt_scoring.history.positions import partition_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.anomalies.context import Context

NAME = "replica-divergence"

LACKING = "lacking"
DAMAGED = "damaged"
LEADER_EPOCH = "leaderEpoch"
CONTENT = "content"
"""Sub-counts: a replica has nothing there; its bytes do not match their checksum; it differs in
the leader epoch alone; it holds another batch."""


def possible(ctx: Context) -> bool:
    """Whether any compared replicas differ."""
    return bool(ctx.history.differing_replicas)


def find(ctx: Context) -> DataFrame:
    """Return one finding an offset at which the compared replicas of a partition differ."""
    buckets = local_rows.frame(ctx.spark, ctx.history.differing_replicas, "tp long, bucket long")
    # Only a replica that was dumped completely can be found to lack something.
    whole = local_rows.frame(
        ctx.spark,
        [
            (item.tp, [each.broker for each in item.compared if each.broker in item.fully_dumped])
            for item in ctx.history.replicas
        ],
        "tp long, whole array<int>",
    )
    replica = sf.struct(
        "broker",
        sf.col("leader_epoch").alias("leaderEpoch"),
        "batch",
        sf.col("batch_last").alias("batchLast"),
        *("size", "crc", "valid"),
    )
    dumped = (
        replicas.rows(ctx.history.tables, ctx.history.facts, ctx.history.replicas)
        .join(sf.broadcast(buckets), ["tp", "bucket"])
        .groupBy("tp", "offset")
        .agg(sf.sort_array(sf.collect_list(replica)).alias("replicas"))
        .join(sf.broadcast(whole), "tp")
    )
    holders = sf.transform("replicas", lambda item: item["broker"])
    compared = dumped.withColumn("lacking", sf.sort_array(sf.array_except("whole", holders)))
    apart = compared.filter((sf.size("lacking") > 0) | _differ("leaderEpoch", *_BATCH))
    tag = (
        sf.when(sf.size("lacking") > 0, LACKING)
        .when(sf.exists("replicas", lambda item: ~item["valid"]), DAMAGED)
        .when(~_differ(*_BATCH), LEADER_EPOCH)
        .otherwise(CONTENT)
    )
    named = apart.withColumns(
        {
            "topic": ctx.history.facts.positions.topic_column(sf.col("tp")),
            "partition": partition_of(sf.col("tp")),
        }
    )
    return finding(NAME, named, tag=tag, detail=sf.to_json(sf.struct("replicas", "lacking")))


_BATCH = ("batch", "batchLast", "size", "crc", "valid")


def _differ(*names: str) -> Column:
    """Whether the replicas of a row differ in any of the fields."""
    fields = sf.transform("replicas", lambda item: sf.struct(*[item[name] for name in names]))
    return sf.size(sf.array_distinct(fields)) > 1
