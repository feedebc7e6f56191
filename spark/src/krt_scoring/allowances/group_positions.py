"""Where consumer groups stood when a partition's log may have been cut.

A member's position is above what it was last delivered, and above the markers that follow: its
assignments, seeks and commits name it. Until its recorded reset it may learn nothing of the cut.
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

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome
from krt_scoring.engine import local_rows
from krt_scoring.engine.caching import cache
from krt_scoring.history.intervals import with_lane
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.history import History

_RESETS = ArrayType(
    StructType(
        [
            StructField("group_index", LongType()),
            StructField("incarnation", StringType()),
            StructField("event_seq", LongType()),
        ]
    )
)
_CUTS = StructType(
    [
        StructField("tp", LongType()),
        StructField("cut_at", LongType()),
        StructField("resets", _RESETS),
    ]
)


@dataclass(frozen=True, slots=True, order=True)
class Reset:
    """A member's reset of its position on a partition.

    Attributes:
        event_seq: in the incarnation's own order.
        target: the offset it went on from.
    """

    group: int
    tp: int
    incarnation: str
    event_seq: int
    at: int
    target: int


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a group had come on a partition when its log may have been cut.

    Attributes:
        position: the highest that any of its members had, or had committed; 0 where it had none.
        resets: of each member, its first since then.
        recommitted: when a member first committed after its reset, UTC µs; FOREVER for never.
    """

    position: int = 0
    resets: tuple[Reset, ...] = ()
    recommitted: int = FOREVER


NOWHERE = Reached()
"""Of a group that had not come to the partition."""


def collect(
    history: History, cuts: Sequence[tuple[int, int]], slack: int
) -> dict[tuple[int, int, int], Reached]:
    """Return (group, topic-partition, when) → how far the group had come.

    Args:
        history: of the run.
        cuts: topic-partition and when its log may have been cut, UTC µs.
        slack: µs by which a member's clock may differ from that of the cuts.
    """
    moves = _moves(history, sorted({tp for tp, _ in cuts}))
    kept = cache(moves)
    try:
        resets = _resets(kept.rows)
        since = {(tp, at): _first_since(resets, tp, at - slack) for tp, at in cuts}
        rows = [
            (tp, at, [(item.group, item.incarnation, item.event_seq) for item in found])
            for (tp, at), found in sorted(since.items())
        ]
        table = local_rows.frame(history.spark, rows, _CUTS)
        reached = kept.rows.join(sf.broadcast(table), "tp").groupBy("group_index", "tp", "cut_at")
        found = reached.agg(*_aggregates(slack)).collect()
    finally:
        kept.release()
    return {
        (row["group_index"], row["tp"], row["cut_at"]): Reached(
            position=row["position"] or 0,
            resets=tuple(
                item for item in since[row["tp"], row["cut_at"]] if item.group == row["group_index"]
            ),
            recommitted=FOREVER if row["recommitted"] is None else row["recommitted"],
        )
        for row in found
    }


def _moves(history: History, tps: list[int]) -> DataFrame:
    """Return what names a position on some partitions: ok deliveries, and events with an offset."""
    columns = ("group_index", "tp", "incarnation", "event_seq")
    delivered = with_lane(
        history.tables.consume.filter(sf.col("outcome") == DeliveryOutcome.OK.value), history.facts
    ).select(
        *columns,
        sf.col("delivered_at").alias("at"),
        (sf.col("offset") + 1).alias("position"),
        sf.lit(None).cast("string").alias("event"),
    )
    named = with_lane(
        history.tables.consumer_events.filter(sf.col("offset").isNotNull()), history.facts
    ).select(*columns, "at", sf.col("offset").alias("position"), "event")
    return delivered.unionAll(named).filter(sf.col("tp").isin(tps))


def _resets(moves: DataFrame) -> list[Reset]:
    rows = moves.filter(sf.col("event") == ConsumerEvent.RESET.value).collect()
    return sorted(
        Reset(
            group=row["group_index"],
            tp=row["tp"],
            incarnation=row["incarnation"],
            event_seq=row["event_seq"],
            at=row["at"],
            target=row["position"],
        )
        for row in rows
    )


def _first_since(resets: list[Reset], tp: int, at: int) -> tuple[Reset, ...]:
    """Return each member's first reset on a partition since a time."""
    first: dict[tuple[int, str], Reset] = {}
    for item in resets:
        if item.tp == tp and item.at >= at:
            first.setdefault((item.group, item.incarnation), item)
    return tuple(sorted(first.values()))


def _aggregates(slack: int) -> tuple[Column, Column]:
    own = sf.filter(
        "resets",
        lambda reset: (
            (reset["group_index"] == sf.col("group_index"))
            & (reset["incarnation"] == sf.col("incarnation"))
        ),
    )
    reset = sf.get(own, sf.lit(0))["event_seq"]
    # A member that resets stood above the cut until then.
    before = (sf.col("at") <= sf.col("cut_at") + slack) | (sf.col("event_seq") < reset)
    known = sf.coalesce(sf.col("event") != ConsumerEvent.RESET.value, sf.lit(col=True))
    again = (sf.col("event") == ConsumerEvent.COMMITTED.value) & (sf.col("event_seq") > reset)
    return (
        sf.max(sf.when(known & before, sf.col("position"))).alias("position"),
        sf.min(sf.when(again, sf.col("at"))).alias("recommitted"),
    )
