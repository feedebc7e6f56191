"""commit-ahead: a commit above a visible, owed record that was never handed to the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from krt_contract.outcomes import ConsumerEvent
from krt_scoring.allowances import consequences
from krt_scoring.anomalies.findings import finding
from krt_scoring.history import ownership
from krt_scoring.history.base import located
from krt_scoring.history.positions import OFFSET_BITS
from krt_scoring.history.records import HANDED, owed, tried
from krt_scoring.history.union import together

if TYPE_CHECKING:
    from krt_scoring.history.base import Base

NAME = "commit-ahead"


def find(base: Base) -> DataFrame:
    """Return one finding a commit; positions legally pass markers, only records count.

    What the abort of a transaction took back was not handed out.
    """
    never = [
        base.suspects.filter(sf.col(owed(group)) & (sf.col(tried(group)) < HANDED))
        .select(sf.lit(group.index).alias("group_index"), "tp", "offset")
        .groupBy("group_index", "tp")
        .agg(sf.min("offset").alias("missing"))
        for group in base.facts.groups
    ]
    missing = together(never)
    commits = ownership.located(
        base.history.consumer_events.filter(sf.col("event") == ConsumerEvent.COMMITTED), base.facts
    )
    ahead = commits.join(sf.broadcast(missing), ["group_index", "tp"]).filter(
        sf.col("offset") > sf.col("missing")
    )
    place = sf.shiftleft(sf.col("tp"), OFFSET_BITS).bitwiseOR(sf.col("offset"))
    shown = located(ahead.withColumn("place", place), base.facts)
    return finding(
        NAME,
        consequences.with_spans(shown, base.spans),
        rule=consequences.rule(sf.col("missing")),
        grp="group",
        detail=sf.to_json(sf.struct("missing", "at")),
    )
