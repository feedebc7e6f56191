"""Where an election may have cut a partition's log, and whose loss that permits.

The evidence holds no start offset of an epoch, so the lowest offset it can have is taken: one
above the highest record that was acked before the election and still lies where it was acked.
A record below that offset was certainly not cut by the election; one at or above it may have
been, and nobody is accused on a maybe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from krt_scoring.derive.elections import Election, elections
from krt_scoring.derive.places import offset_of
from krt_scoring.derive.records import ACKED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.derive.facts import Facts
    from krt_scoring.history import History

SESSION_TIMEOUT_DEFAULT = 18_000
"""Kafka 3.9's zookeeper.session.timeout.ms, in ms."""

_CUT = StructType(
    [
        StructField("at", LongType()),
        StructField("offset", LongType()),
        StructField("rule", StringType()),
        StructField("latest", LongType()),
    ]
)
SCHEMA = StructType([StructField("tp", LongType()), StructField("cuts", ArrayType(_CUT))])
"""One row a partition with its cuts; ``rule`` is null where the cut permits acks=all nothing,
``latest`` the last instant at which the leader before may still have acked (µs)."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """A cut that an election may have made.

    Attributes:
        offset: the first offset that can have been cut.
        rule: what permits the loss of acks=all records, null where nothing does.
        latest: sends acked later than this were not acked by an earlier leader, in UTC µs.
    """

    election: Election
    tp: int
    offset: int
    rule: str | None
    latest: int

    def as_dict(self) -> dict[str, int | str]:
        """Return the truncation for the scorecard."""
        return {
            "topic": self.election.topic,
            "partition": self.election.partition,
            "at": self.election.at,
            "epoch": self.election.epoch,
            "leader": self.election.leader,
            "firstOffsetCut": self.offset,
            "unclean": int(self.election.outside_isr),
        }


def rule_of(election: Election, facts: Facts) -> str | None:
    """Return the rule by which an election permits the loss of acks=all records."""
    if election.storage_lost:
        return "storage-lost"
    if election.outside_isr and facts.run.unclean_election(election.topic):
        return "unclean-election"
    return None


def derive(history: History, facts: Facts, records: DataFrame) -> tuple[Truncation, ...]:
    """Return every cut that the run's elections may have made."""
    found = [item for item in elections(history) if facts.places.known(item.topic)]
    if not found:
        return ()
    kept = _kept(found, facts, records)
    timeout = facts.run.broker_config.get("zookeeper.session.timeout.ms", SESSION_TIMEOUT_DEFAULT)
    grace = int(timeout) * 1000
    truncations = []
    for item in found:
        tp = facts.places.tp(item.topic, item.partition)
        storage = item.storage_lost
        offset = 0 if storage else kept.get((tp, item.at), -1) + 1
        truncations.append(Truncation(item, tp, offset, rule_of(item, facts), item.at + grace))
    return tuple(truncations)


def _kept(found: list[Election], facts: Facts, records: DataFrame) -> dict[tuple[int, int], int]:
    spark = records.sparkSession
    rows = [(facts.places.tp(item.topic, item.partition), item.at) for item in found]
    schema = StructType([StructField("tp", LongType()), StructField("at", LongType())])
    moments = spark.createDataFrame(rows, schema).distinct()
    whole = (sf.col("log_first") == sf.col("ack_place")) & (
        sf.col("log_last") == sf.col("ack_place")
    )
    kept = records.filter((sf.col("outcome") == ACKED) & whole)
    joined = kept.join(sf.broadcast(moments), "tp").filter(sf.col("done_at") < sf.col("at"))
    highest = joined.groupBy("tp", "at").agg(sf.max(offset_of(sf.col("log_last"))).alias("offset"))
    return {(row["tp"], row["at"]): row["offset"] for row in highest.collect()}


def table(truncations: tuple[Truncation, ...], like: DataFrame) -> DataFrame:
    """Return the cuts as a DataFrame of one row a partition."""
    by_tp: dict[int, list[tuple[int, int, str | None, int]]] = {}
    for item in truncations:
        by_tp.setdefault(item.tp, []).append(
            (item.election.at, item.offset, item.rule, item.latest)
        )
    rows = [(tp, by_tp[tp]) for tp in sorted(by_tp)]
    return like.sparkSession.createDataFrame(rows, SCHEMA)


def with_cuts(rows: DataFrame, truncations: tuple[Truncation, ...]) -> DataFrame:
    """Return rows that have ``tp`` with the column ``cuts`` (empty where there is none)."""
    empty = sf.array().cast(ArrayType(_CUT))
    if not truncations:
        return rows.withColumn("cuts", empty)
    joined = rows.join(sf.broadcast(table(truncations, rows)), "tp", "left")
    return joined.withColumn("cuts", sf.coalesce(sf.col("cuts"), empty))


def reached(offset: Column, before: Column) -> Column:
    """Return the cuts at or below ``offset`` whose earlier leader may have spoken ``before``."""
    return sf.filter(
        "cuts",
        lambda cut: (
            (cut["offset"] <= sf.coalesce(offset, sf.lit(_ANY)))
            & (cut["latest"] >= sf.coalesce(before, sf.lit(0)))
        ),
    )


_ANY = (1 << 62) - 1
"""Stands for an offset nobody told: it may have been at or above any cut."""
