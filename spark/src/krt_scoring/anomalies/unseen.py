"""unseen: in the log, visible and owed to a group that drained, in no ok delivery to it.

A delivery counts where it came from a place at which the log holds the record.
To a group that commits within transactions only committed ones deliver: input whose output was
aborted, and which was never read again, is unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from krt_contract.outcomes import SendOutcome
from krt_scoring.allowances import consequences
from krt_scoring.allowances.transactions import undecided_rule
from krt_scoring.anomalies.schema import finding
from krt_scoring.engine.dataframes import union_all
from krt_scoring.history.record_columns import (
    ACKED,
    REACHED,
    owed,
    received_count,
    received_state,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.anomalies.context import Context
    from krt_scoring.history.groups import Group

NAME = "unseen"


def possible(ctx: Context) -> bool:
    """Whether any record was not delivered to a group."""
    return ctx.history.records.totals["undelivered"] + ctx.history.records.totals["skipped"] > 0


def find(ctx: Context) -> DataFrame:
    """Return one finding a record and group."""
    return union_all([_of_group(ctx, group) for group in ctx.history.facts.groups])


def _of_group(ctx: Context, group: Group) -> DataFrame:
    undrained = [
        tp
        for (index, tp), start in sorted(ctx.history.facts.starts.items())
        if index == group.index and not start.drained
    ]
    # Of a log that was not read, another group's delivery shows what it held.
    shown: Column = sf.col("readable")
    for other in ctx.history.facts.groups:
        shown = shown | (sf.col(received_count(other)) > 0)
    rows = ctx.suspects.filter(
        sf.col(owed(group))
        & (sf.col(received_count(group)) == 0)
        & ~sf.col("tp").isin(undrained)
        & shown
        & ~ctx.history.facts.never_sent()
    ).withColumn("group_index", sf.lit(group.index))
    tag = sf.when(sf.col("outcome") == ACKED, SendOutcome.ACKED.value).otherwise("unknownInLog")
    undecided = undecided_rule(ctx.history.tables, ctx.history.facts, group)
    return finding(
        NAME,
        consequences.with_spans(rows, ctx.allowances.consequences),
        rule=sf.coalesce(
            consequences.passing_rule(sf.col("offset")),
            sf.when(sf.col(received_state(group)) == REACHED, sf.lit(undecided)),
        ),
        grp=sf.lit(group.name),
        tag=tag,
    )
