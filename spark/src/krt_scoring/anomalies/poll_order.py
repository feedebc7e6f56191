"""poll-skip, nonmonotonic-poll and their forms inside one poll.

Steps between consecutive ok deliveries of one incarnation on a partition it kept, measured by
the dense index: over more than one record, or not forward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.allowances import consequences
from krt_scoring.anomalies.schema import finding
from krt_scoring.history import offset_jumps
from krt_scoring.history.positions import offset_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.anomalies.context import Context

SKIP, BACK = "poll-skip", "nonmonotonic-poll"
INSIDE_SKIP, INSIDE_BACK = "int-poll-skip", "int-nonmonotonic-poll"


def back_possible(ctx: Context) -> bool:
    """Whether any step did not go forward."""
    return bool(ctx.history.reading.back)


def find_back(ctx: Context) -> DataFrame:
    """Return one finding a step that does not go forward.

    Places of ok deliveries all have an index and the index follows the offset, so that offsets
    decide.
    """
    steps = offset_jumps.described(
        ctx.history.reading.steps.filter(~offset_jumps.is_forward()), ctx.history.facts
    )
    name = sf.when(sf.col("inside"), INSIDE_BACK).otherwise(BACK)
    return _findings(name, steps, ctx)


def skips_possible(ctx: Context) -> bool:
    """Whether any step passed over a record."""
    return bool(ctx.history.reading.skipped)


def find_skips(ctx: Context) -> DataFrame:
    """Return one finding a step over at least one record visible to the group."""
    steps = offset_jumps.described(ctx.history.reading.skips, ctx.history.facts)
    name = sf.when(sf.col("inside"), INSIDE_SKIP).otherwise(SKIP)
    return _findings(name, steps, ctx)


def _findings(name: Column, steps: DataFrame, ctx: Context) -> DataFrame:
    before = offset_of(sf.col("prev_position"))
    earlier = consequences.Earlier(sf.col("incarnation"), sf.col("prev_event_seq"))
    columns = [before.alias("previousOffset")]
    low, high = sf.col("offset"), before
    if "skipped" in steps.columns:
        columns.append(sf.col("skipped"))
        # So many records reach so far at least.
        low, high = before + 1, before + sf.col("skipped")
    return finding(
        name,
        consequences.with_spans(steps, ctx.allowances.consequences),
        rule=consequences.rule(low, high, sf.col("delivered_at"), earlier),
        detail=sf.to_json(sf.struct(*columns)),
    )
