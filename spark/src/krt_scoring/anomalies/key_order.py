"""key-order: first deliveries of two records of a key, against their order in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from krt_scoring.derive import ownership
from krt_scoring.derive.base import located
from krt_scoring.derive.places import offset_of
from krt_scoring.expectations import consequences
from krt_scoring.findings import finding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.derive.base import Base
    from krt_scoring.derive.hops import Lane

NAME = "key-order"


def doubtful(base: Base) -> set[Lane]:
    """Return where first deliveries of a group from a partition can be out of order.

    A member that goes from record to record delivers in order by itself: it must have gone back,
    over a record, or been moved. Between two members the order breaks only where the later one
    began below where the earlier one had.
    """
    lanes = {*base.back, *base.skipped}
    lanes |= {lane for lane, start in base.facts.starts.items() if start.moved}
    highest: dict[Lane, int] = {}
    for item in base.owned:
        lane = (item.group, item.tp)
        if item.start is None or item.start < highest.get(lane, item.start):
            lanes.add(lane)
        else:
            highest[lane] = item.start
    return lanes


def possible(base: Base) -> bool:
    """Whether any first deliveries can be out of order."""
    return bool(doubtful(base))


def find(base: Base) -> DataFrame:
    """Return one finding an adjacent inversion, ordered by (ownership, n), not by clocks."""
    lanes = sorted(doubtful(base))
    rows = base.history.consume.filter(sf.col("outcome") == "ok").withColumn(
        "place", base.facts.places.column()
    )
    asked = sf.broadcast(base.spark.createDataFrame(lanes, "group_index int, tp long"))
    rows = ownership.located(rows, base.facts).join(asked, ["group_index", "tp"], "left_semi")
    owned = ownership.owned_by(
        rows.select("group_index", "tp", "incarnation", "consumer", "n", "place"),
        base.owned_table,
    ).select("group_index", "tp", "place", "interval", "n", "consumer", "incarnation")
    moment = sf.struct("interval", "n", "consumer", "incarnation")
    first = owned.groupBy("group_index", "tp", "place").agg(sf.min(moment).alias("moment"))
    concerned = base.facts.places.tp_column().isin(*sorted({tp for _, tp in lanes}))
    keys = base.history.log.filter(sf.col("key").isNotNull() & concerned).select(
        base.facts.places.column().alias("place"), "key"
    )
    order = Window.partitionBy("group_index", "tp", "key").orderBy("moment.interval", "moment.n")
    inverted = (
        first.join(keys, "place")
        .withColumn("previous", sf.lag("place").over(order))
        .filter(sf.col("place") < sf.col("previous"))
        .select("*", "moment.n", "moment.consumer", "moment.incarnation")
    )
    shown = consequences.with_spans(located(inverted, base.facts), base.spans)
    names = sf.array(*[sf.lit(group.name) for group in base.facts.groups])
    before = offset_of(sf.col("previous"))
    return finding(
        NAME,
        shown.withColumn("grp", sf.get(names, sf.col("group_index"))),
        rule=consequences.rule(before),
        detail=sf.to_json(sf.struct("key", before.alias("previousOffset"))),
    )
