"""The replicas that still have a record that is gone from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from krt_scoring.anomalies import lost_write, vanished_read
from krt_scoring.engine import local_rows
from krt_scoring.history.identity import key

if TYPE_CHECKING:
    from krt_scoring.anomalies.context import Context

OF = (lost_write.NAME, vanished_read.NAME)
"""Anomalies about records that are gone."""


def add(ctx: Context, examples: dict[str, list[dict[str, Any]]]) -> None:
    """Add ``presentOnBrokers`` and ``dumped`` to every example of a record that is gone.

    ``presentOnBrokers``: the brokers whose replica has it, at whatever offset; ``dumped``: the
    brokers whose replica of its partition was dumped completely; of others nothing is known.
    Nothing is added where no replica was dumped.
    """
    gone = [example for name in OF for example in examples.get(name, [])]
    if not gone or not any(item.replicas for item in ctx.history.replicas):
        return
    keys = {
        (item.producer, item.incarnation): item.key
        for item in ctx.history.facts.incarnations.values()
    }
    asked = [
        (number, keys[example["producer"], example["producer_incarnation"]], example["seq"])
        for number, example in enumerate(gone)
    ]
    records = local_rows.frame(ctx.spark, asked, "id int, pk long, seq long")
    rows = (
        ctx.history.tables.replica_log.filter(sf.col("run_uid") == ctx.history.facts.run.uid)
        .withColumn("pk", key())
        .join(sf.broadcast(records), ["pk", "seq"])
        .select("id", "broker")
        .distinct()
        .collect()
    )
    whole = {(item.topic, item.partition): item.fully_dumped for item in ctx.history.replicas}
    for number, example in enumerate(gone):
        example["presentOnBrokers"] = sorted(row["broker"] for row in rows if row["id"] == number)
        # A send may have been to no partition anybody knows of.
        position = str(example.get("topic")), int(example.get("partition", -1))
        example["dumped"] = list(whole.get(position, ()))
