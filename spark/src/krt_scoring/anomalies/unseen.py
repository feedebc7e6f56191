"""unseen: in the log, visible and owed to a group that drained, in no ok delivery to it.

To a group that commits within transactions only committed ones deliver: input whose output was
aborted, and which was never read again, is unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from krt_scoring.allowances import consequences
from krt_scoring.allowances.transactions import undecided_rule
from krt_scoring.anomalies.schema import finding
from krt_scoring.history.records import (
    ACKED,
    HANDED,
    delivered,
    owed,
    tried,
)
from krt_scoring.history.union import together

if TYPE_CHECKING:
    from krt_scoring.history.base import Base
    from krt_scoring.history.facts import Group

NAME = "unseen"


def possible(base: Base) -> bool:
    """Whether any record was not delivered to a group."""
    return base.totals["undelivered"] + base.totals["skipped"] > 0


def find(base: Base) -> DataFrame:
    """Return one finding a record and group."""
    return together([_of_group(base, group) for group in base.facts.groups])


def _of_group(base: Base, group: Group) -> DataFrame:
    undrained = [
        tp
        for (index, tp), start in sorted(base.facts.starts.items())
        if index == group.index and not start.drained
    ]
    # Of a log that was not read, another group's delivery shows what it held.
    shown = sf.col("readable") | sf.col("got_first").isNotNull()
    rows = base.suspects.filter(
        sf.col(owed(group))
        & (sf.col(delivered(group)) == 0)
        & ~sf.col("tp").isin(undrained)
        & shown
        & ~base.facts.never_sent()
    ).withColumn("group_index", sf.lit(group.index))
    tag = sf.when(sf.col("outcome") == ACKED, "acked").otherwise("unknownInLog")
    undecided = undecided_rule(base.history, base.facts, group)
    return finding(
        NAME,
        consequences.with_spans(rows, base.spans),
        rule=sf.coalesce(
            consequences.rule(sf.col("offset")),
            sf.when(sf.col(tried(group)) == HANDED, sf.lit(undecided)),
        ),
        grp=sf.lit(group.name),
        tag=tag,
    )
