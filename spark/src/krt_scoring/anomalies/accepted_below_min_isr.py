"""accepted-below-min-isr: an acks=all send acked while every observed ISR was too small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType

from krt_scoring.anomalies.schema import finding
from krt_scoring.engine import local_rows
from krt_scoring.history.base import named
from krt_scoring.history.elections import states
from krt_scoring.history.records import ACKED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.history.base import Base

NAME = "accepted-below-min-isr"

SETTLING = 1_000_000
"""µs after ZooKeeper has the smaller ISR in which the leader may not have taken it over yet."""

FOREVER = (1 << 62) - 1


def windows(base: Base) -> list[tuple[int, int, int]]:
    """Return (topic-partition, begin, end) in which every observed ISR was below the minimum."""
    found: list[tuple[int, int, int]] = []
    for (topic, partition), sequence in states(base.history).items():
        if not base.facts.places.known(topic):
            continue
        tp = base.facts.places.tp(topic, partition)
        minimum = base.facts.run.min_insync(topic)
        since: int | None = None
        for state in sequence:
            short = len(state.isr) < minimum
            if short and since is None:
                since = state.at
            elif not short and since is not None:
                found.append((tp, since, state.at))
                since = None
        if since is not None:
            found.append((tp, since, FOREVER))
    return found


def possible(base: Base) -> bool:
    """Whether any observed ISR was too small."""
    return bool(windows(base))


def find(base: Base) -> DataFrame:
    """Return one finding a record sent and acked wholly within such a window."""
    schema = StructType([StructField(name, LongType()) for name in ("tp", "begin", "end")])
    short = local_rows.frame(base.spark, windows(base), schema)
    acked = base.records.filter(sf.col("outcome") == ACKED)
    within = acked.join(sf.broadcast(short), "tp").filter(
        (sf.col("sent_at") >= sf.col("begin") + SETTLING) & (sf.col("done_at") <= sf.col("end"))
    )
    found = named(within, base.names, base.facts).filter(sf.col("acks") == "all")
    detail = sf.to_json(
        sf.struct(sf.col("sent_at").alias("sentAt"), sf.col("done_at").alias("doneAt"))
    )
    return finding(NAME, found, detail=detail)
