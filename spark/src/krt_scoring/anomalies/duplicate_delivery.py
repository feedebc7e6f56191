"""duplicate-delivery: one offset delivered ok again to a group.

Within the uncommitted window every mode permits it: the offset was not below the group's last
known commit when the newer owner was assigned, and the older one owned it no more. The older one
may be the later to hand it out: a process that stood still goes on with what it had fetched.
A group that commits within transactions has no such window: what was handed out in a transaction
that was aborted is not a delivery, and two that were committed moved the offset twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from krt_contract.outcomes import DeliveryOutcome
from krt_scoring.allowances import consequences
from krt_scoring.allowances.offsets import OFFSETS_LOST, lost_commits
from krt_scoring.anomalies.findings import finding
from krt_scoring.history import ownership
from krt_scoring.history.base import located
from krt_scoring.history.positions import offset_of
from krt_scoring.history.records import delivered
from krt_scoring.history.union import together

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.history.base import Base

NAME = "duplicate-delivery"
RULE = "uncommitted-window"
WITHIN, OUTSIDE = "withinUncommittedWindow", "outsideWindow"

OWNERSHIP = (
    *("interval", "begin", "end", "last_at", "incarnation"),
    *("committed", "lapse", "tolerated"),
)
"""What is asked of the ownership of the first delivery."""

CLOCK_SLACK = 1_000_000
"""µs by which the clocks of two members may differ before it is told against them; clocks
further apart are the guards' business."""


def find(base: Base) -> DataFrame:
    """Return one finding a delivery beyond the first of its offset and group."""
    rows = ownership.owned_by(_deliveries(base), base.owned_table)
    activity = sf.broadcast(base.activity_table)
    rows = rows.join(activity, "interval", "left")
    order = Window.partitionBy("group_index", "place").orderBy(
        "delivered_at", "incarnation", "event_seq"
    )
    first = {f"first_{name}": sf.first(name).over(order) for name in OWNERSHIP}
    again = rows.withColumns({"nth": sf.row_number().over(order), **first}).filter("nth > 1")
    belated = sf.col("begin") < sf.col("first_begin")

    def older(name: str) -> Column:
        return sf.when(belated, sf.col(name)).otherwise(sf.col(f"first_{name}"))

    def newer(name: str) -> Column:
        return sf.when(belated, sf.col(f"first_{name}")).otherwise(sf.col(name))

    limit = newer("begin") + CLOCK_SLACK
    # Who owned it before either said so, died, never did anything with it again, or stood still
    # for longer than its session and soon learnt of it.
    ended = (
        (older("end") <= limit)
        | (older("last_at") <= limit)
        | ((older("lapse") <= limit) & (older("last_at") <= older("tolerated")))
    )
    moved = sf.col("interval") != sf.col("first_interval")
    uncommitted = offset_of(sf.col("place")) >= sf.coalesce(newer("committed"), sf.lit(0))
    window = ~sf.col("group_index").isin(*base.facts.transactional)
    within: Column = sf.coalesce(moved & ended & uncommitted & window, sf.lit(col=False))
    shown = consequences.with_spans(located(again, base.facts), base.spans)
    after = sf.coalesce(
        consequences.rule(sf.col("offset"), sf.col("delivered_at")),
        sf.when(moved & ended & _commits_lost(base), OFFSETS_LOST),
    )
    groups = sf.array(*[sf.lit(group.name) for group in base.facts.groups])
    detail = sf.to_json(
        sf.struct(
            sf.col("first_incarnation").alias("firstIncarnation"),
            sf.col("committed").alias("lastCommit"),
            sf.col("delivered_at").alias("deliveredAt"),
        )
    )
    return finding(
        NAME,
        shown.withColumn("grp", sf.get(groups, sf.col("group_index"))),
        rule=sf.when(within, RULE).otherwise(after),
        tag=sf.when(within, WITHIN).otherwise(OUTSIDE),
        detail=detail,
    )


def _commits_lost(base: Base) -> Column:
    """Whether the group may have lost its commits before the new owner was assigned."""
    lost: Column = sf.lit(col=False)
    for group, at in sorted(lost_commits(base.history, base.facts).items()):
        lost = lost | ((sf.col("group_index") == group) & (sf.col("begin") >= at))
    return lost


def _deliveries(base: Base) -> DataFrame:
    """Return every ok delivery at a place where some record was delivered oddly."""
    odd: Column = (sf.col("got_first") != sf.col("got_last")) | sf.coalesce(
        sf.col("got_first") != sf.col("log_first"), sf.col("got_first").isNotNull()
    )
    for group in base.facts.groups:
        odd = odd | (sf.col(delivered(group)) > 1)
    suspects = base.suspects.filter(odd)
    columns = ("got_first", "got_last", "log_first", "log_last")
    places = together([suspects.select(sf.col(name).alias("place")) for name in columns])
    wanted = places.filter(sf.col("place").isNotNull()).distinct()
    rows = base.history.consume.filter(sf.col("outcome") == DeliveryOutcome.OK).withColumn(
        "place", base.facts.places.column()
    )
    return (
        ownership.located(rows, base.facts)
        .join(base.few(wanted), "place", "left_semi")
        .drop("group")
    )
