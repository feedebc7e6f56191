"""The replicas that were dumped: which of them must be identical, and where they differ.

Replicas hold the leader's batches byte by byte, so two that hold the same batch under the same
leader epoch hold the same records. Millions of offsets are first folded into a checksum a bucket
and replica, and only where those differ are single offsets compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.engine import local_rows
from krt_scoring.history.elections import states

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import Tables

BUCKET_BITS = 12
"""Offsets are folded by 4096: a difference costs looking at that many, a run has few buckets."""

IDENTICAL = ("leader_epoch", "batch", "batch_last", "size", "crc", "valid")
"""Columns that replicas must agree in at an offset."""


@dataclass(frozen=True, slots=True)
class Replica:
    """What the dump of one replica says of it.

    Attributes:
        log_end: the offset after its last one.
        rows: offsets it was seen to hold.
        problem: why it may hold more; empty where the dump is complete.
    """

    broker: int
    log_start: int
    log_end: int
    rows: int
    problem: str


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition and its replicas.

    Attributes:
        tp: topic-partition id.
        log_start, high_watermark: the offsets in between are committed: whoever is in sync has
            them.
        settled: whether the log had come to rest; only then replicas are compared.
        isr: brokers in sync by the leader's word and by ZooKeeper's last state.
        replicas: those dumped, in sync or not, by broker.
    """

    tp: int
    topic: str
    partition: int
    log_start: int
    high_watermark: int
    settled: bool
    isr: tuple[int, ...]
    replicas: tuple[Replica, ...]

    @property
    def compared(self) -> tuple[Replica, ...]:
        """The replicas that must be identical."""
        return tuple(one for one in self.replicas if self.settled and one.broker in self.isr)

    @property
    def fully_dumped(self) -> tuple[int, ...]:
        """The brokers whose replica was dumped completely."""
        return tuple(one.broker for one in self.replicas if not one.problem)


def collect(tables: Tables, facts: Facts) -> tuple[Partition, ...]:
    """Return the partitions whose log was bounded, with the replicas dumped of each.

    Nothing where the run did not ask for it. A replica counts as in sync where the reading that
    bounded the log says so and the timeline does not contradict it: a broker that answers with old
    metadata must not make a replica that fell behind look like one that diverged.
    """
    if not facts.run.compares_replicas:
        return ()
    dumped: dict[int, dict[int, Replica]] = {}
    for row in tables.replica_bounds.collect():
        if facts.positions.known(row["topic"]):
            tp = facts.positions.tp(row["topic"], row["partition"])
            dumped.setdefault(tp, {})[row["broker"]] = Replica(
                row["broker"], row["log_start"], row["log_end"], row["rows"], row["problem"] or ""
            )
    last = {position: sequence[-1].isr for position, sequence in states(tables.timeline).items()}
    found = {}
    for row in tables.log_end_offsets.orderBy("taken_at").collect():
        position = row["topic"], row["partition"]
        if not facts.positions.known(row["topic"]):
            continue
        tp = facts.positions.tp(*position)
        found[tp] = Partition(
            tp=tp,
            topic=row["topic"],
            partition=row["partition"],
            log_start=row["log_start"],
            high_watermark=row["high_watermark"],
            settled=row["settled"],
            isr=tuple(sorted({*row["isr"]} & {*last.get(position, row["isr"])})),
            replicas=tuple(one for _, one in sorted(dumped.get(tp, {}).items())),
        )
    return tuple(found[tp] for tp in sorted(found))


def rows(tables: Tables, facts: Facts, partitions: tuple[Partition, ...]) -> DataFrame:
    """Return what the compared replicas hold below the high watermark.

    With ``tp`` and ``bucket`` beside the columns of ``replica_log``.
    """
    members = [
        (one.tp, replica.broker, one.log_start, one.high_watermark)
        for one in partitions
        for replica in one.compared
    ]
    schema = "tp long, broker int, begin long, end long"
    bounds = local_rows.frame(tables.replica_log.sparkSession, members, schema)
    dumped = tables.replica_log.withColumns(
        {
            "tp": facts.positions.tp_column(),
            "bucket": sf.shiftright("offset", BUCKET_BITS),
        }
    )
    within = (sf.col("offset") >= sf.col("begin")) & (sf.col("offset") < sf.col("end"))
    return dumped.join(sf.broadcast(bounds), ["tp", "broker"]).filter(within).drop("begin", "end")


def differing(
    tables: Tables, facts: Facts, partitions: tuple[Partition, ...]
) -> list[tuple[int, int]]:
    """Return (topic-partition, bucket) wherever two compared replicas may differ."""
    expected = [(one.tp, len(one.compared)) for one in partitions if len(one.compared) > 1]
    if not expected:
        return []
    seen = (
        rows(tables, facts, partitions)
        .groupBy("tp", "bucket", "broker")
        .agg(
            sf.bit_xor(sf.xxhash64("offset", *IDENTICAL)).alias("mixed"),
            sf.count("*").alias("count"),
        )
        .groupBy("tp", "bucket")
        .agg(
            sf.count("*").alias("brokers"),
            sf.countDistinct("mixed", "count").alias("kinds"),
        )
    )
    expectations = local_rows.frame(
        tables.replica_log.sparkSession, expected, "tp long, expected long"
    )
    differing = seen.join(sf.broadcast(expectations), "tp").filter(
        (sf.col("kinds") > 1) | (sf.col("brokers") < sf.col("expected"))
    )
    return sorted((row["tp"], row["bucket"]) for row in differing.select("tp", "bucket").collect())
