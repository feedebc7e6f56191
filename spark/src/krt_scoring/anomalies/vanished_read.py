"""vanished-read: delivered ok from above the start of a log, and now in no log at all.

What was delivered lay below the high watermark, so it is judged like acks=all whatever its
producer asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.allowances.losses import appended_by, committed_rule
from krt_scoring.anomalies.schema import finding
from krt_scoring.history.positions import offset_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context

NAME = "vanished-read"


def possible(ctx: Context) -> bool:
    """Whether any record that was delivered is gone from the log."""
    return ctx.history.records.totals["vanished"] > 0


def find(ctx: Context) -> DataFrame:
    """Return one finding a record that was read and is gone."""
    # An aborted record lies in the log, and a read_uncommitted group rightly gets it.
    gone = ctx.history.records.suspects.filter(
        ~sf.col("present") & (sf.col("log_rows") == 0) & sf.col("absent_from").isNotNull()
    )
    rows = ctx.at(gone, sf.col("absent_from"))
    position = sf.col("position")
    return finding(NAME, rows, rule=committed_rule(offset_of(position), appended_by(position)))
