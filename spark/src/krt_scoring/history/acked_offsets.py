"""Acked offsets: which of them are places that a record may have had.

A client may report an offset that its partition's log never had. Such an offset is none: it takes
part in no rule, and is counted as ``offsetUnusable``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.history import elections, freezes, partition_bounds
from krt_scoring.history.positions import offset_of, tp_of
from krt_scoring.inputs import broker_session

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import Tables


def unusable(position: Column, tables: Tables, facts: Facts) -> Column:
    """Whether a record was acked at a position outside the log of its partition.

    Of rows with ``log_first, log_last, log_rows, done_at``. What is in no log and was acked below
    the start has expired. An offset above the end was there if an election may have cut it off
    since.

    Args:
        position: as acked; null where no offset was reported.
        tables: the evidence.
        facts: the run's.
    """
    offset, tp = offset_of(position), tp_of(position)
    below = (offset < partition_bounds.start_of(tp, facts)) & (sf.col("log_rows") > 0)
    cut = sf.col("done_at") <= partition_bounds.look_up(_last_acks(tables, facts), tp)
    above = (offset >= partition_bounds.end_of(tp, facts)) & ~sf.coalesce(cut, sf.lit(col=False))
    outside = sf.coalesce(below, sf.lit(col=False)) | sf.coalesce(above, sf.lit(col=False))
    here = sf.coalesce(position.isin(sf.col("log_first"), sf.col("log_last")), sf.lit(col=False))
    # In this order: of nearly every record the comparison with the log is all that is computed.
    return sf.when(position.isNull() | here, sf.lit(col=False)).otherwise(outside)


def _last_acks(tables: Tables, facts: Facts) -> dict[int, int]:
    """Return topic-partition id → until when a deposed leader may have acked, in UTC µs."""
    grace = facts.run.broker_session.micros
    restarts = broker_session.controller_elections(tables.timeline)
    frozen = freezes.collect(tables.timeline)
    found: dict[int, int] = {}
    for item in elections.elections(tables.timeline):
        if facts.positions.known(item.topic):
            tp = facts.positions.tp(item.topic, item.partition)
            latest = freezes.last_ack(item.deposed, item.at, frozen, grace, restarts)
            found[tp] = max(latest, found.get(tp, latest))
    return found
