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

NAME = "key-order"


def possible(base: Base) -> bool:
    """Whether any first deliveries of a partition can be out of order.

    Members that step from offset to offset deliver in order by themselves. Between two of them
    the order breaks only where the later one began below where the earlier one had.
    """
    if base.forward + base.backward > 0:
        return True
    highest: dict[tuple[int, int], int] = {}
    for item in base.owned:
        place = (item.group, item.tp)
        if item.start is None or item.start < highest.get(place, item.start):
            return True
        highest[place] = item.start
    return False


def find(base: Base) -> DataFrame:
    """Return one finding an adjacent inversion, ordered by (ownership, n), not by clocks."""
    rows = base.history.consume.filter(sf.col("outcome") == "ok").withColumn(
        "place", base.facts.places.column()
    )
    owned = ownership.owned_by(
        ownership.located(rows, base.facts).select(
            "group_index", "tp", "incarnation", "consumer", "n", "place"
        ),
        base.owned_table,
    ).select("group_index", "tp", "place", "interval", "n", "consumer", "incarnation")
    moment = sf.struct("interval", "n", "consumer", "incarnation")
    first = owned.groupBy("group_index", "tp", "place").agg(sf.min(moment).alias("moment"))
    keys = base.history.log.filter(sf.col("key").isNotNull()).select(
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
