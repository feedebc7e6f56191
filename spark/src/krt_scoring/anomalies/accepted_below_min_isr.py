"""accepted-below-min-isr: an acks=all send acked while every observed ISR was too small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType

from krt_scoring.anomalies.schema import finding
from krt_scoring.engine import local_rows
from krt_scoring.history.elections import states
from krt_scoring.history.record_columns import ACKED
from krt_scoring.history.records import with_names
from krt_scoring.inputs.timeline import FOREVER, unobserved_from

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context

NAME = "accepted-below-min-isr"

SETTLING = 1_000_000
"""µs after ZooKeeper has the smaller ISR in which the leader may not have taken it over yet."""


def windows(ctx: Context) -> list[tuple[int, int, int]]:
    """Return (topic-partition, begin, end) in which every observed ISR was below the minimum."""
    found: list[tuple[int, int, int]] = []
    # In the recorder's last silence an ISR may have grown again.
    observed = unobserved_from(ctx.history.tables.timeline)
    end = FOREVER if observed is None else observed
    for (topic, partition), sequence in states(ctx.history.tables.timeline).items():
        # Between two polls an ISR may have grown and shrunk again.
        if not ctx.history.facts.positions.known(topic) or sequence[0].polled:
            continue
        tp = ctx.history.facts.positions.tp(topic, partition)
        minimum = ctx.history.facts.run.min_insync(topic)
        since: int | None = None
        for state in sequence:
            short = len(state.isr) < minimum
            if short and since is None:
                since = state.at
            elif not short and since is not None:
                found.append((tp, since, state.at))
                since = None
        if since is not None:
            found.append((tp, since, end))
    return found


def possible(ctx: Context) -> bool:
    """Whether any observed ISR was too small."""
    return bool(windows(ctx))


def _acked(ctx: Context) -> DataFrame:
    """Return the acknowledged records, in the partition whose leader acknowledged them.

    The log may hold one in another partition, where it was not sent to.
    """
    acked = sf.col("outcome") == ACKED
    records = ctx.history.records
    moved = records.anomalous.filter(acked & (sf.col("ledger_tp") != sf.col("tp")))
    sent = moved.select("pk", "seq", "ledger_tp")
    here = sf.col("ledger_tp").isNull()
    return (
        records.rows.filter(acked)
        .join(records.few(sent), ["pk", "seq"], "left")
        .withColumns(
            {
                "tp": sf.coalesce("ledger_tp", "tp"),
                "position": sf.when(here, sf.col("position")),
            }
        )
    )


def find(ctx: Context) -> DataFrame:
    """Return one finding a record sent and acked wholly within such a window.

    A clock that was set back may give an acknowledgement an earlier time than its send.
    """
    schema = StructType([StructField(name, LongType()) for name in ("tp", "begin", "end")])
    short = local_rows.frame(ctx.spark, windows(ctx), schema)
    within = (
        _acked(ctx)
        .join(sf.broadcast(short), "tp")
        .filter(
            (sf.col("sent_at") >= sf.col("begin") + SETTLING)
            & (sf.greatest("sent_at", "done_at") <= sf.col("end"))
        )
    )
    found = with_names(within, ctx.history.records.names, ctx.history.facts).filter(
        sf.col("acks") == "all"
    )
    detail = sf.to_json(
        sf.struct(sf.col("sent_at").alias("sentAt"), sf.col("done_at").alias("doneAt"))
    )
    return finding(NAME, found, detail=detail)
