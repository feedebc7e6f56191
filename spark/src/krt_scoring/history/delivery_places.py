"""Places of deliveries: whether the settled log holds a record where it was handed out from.

Of nearly every record one comparison in ``outcomes`` shows that it does. Of the few others their
deliveries and their places in the log are looked up one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import DeliveryOutcome
from krt_scoring.history import partition_bounds
from krt_scoring.history.identity import key, ours
from krt_scoring.history.positions import offset_of, tp_of
from krt_scoring.history.record_columns import (
    REACHED,
    TAKEN_BACK,
    received_at,
    received_count,
    received_state,
    taken_back,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import Tables

    Few = Callable[[DataFrame], DataFrame]

RECORD = ["pk", "seq"]


def doubtful() -> Column:
    """Whether a record may have been delivered from where the log does not hold it.

    Of the rows of ``aggregation.build`` with ``readable``. Of a log that was not read nobody knows
    what it held, nor what lay below the start of one that was.
    """
    first, last = sf.col("got_first"), sf.col("got_last")
    ends = [sf.col("log_first"), sf.col("log_last")]
    at_an_end = first.isin(*ends) & last.isin(*ends)
    between = (ends[0] < ends[1]) & (first < last) & (sf.col("got_rows") > len(ends))
    in_log = sf.col("log_rows") > 0
    same = (tp_of(first) == sf.col("tp")) & (tp_of(last) == sf.col("tp"))
    not_known = same & (
        ~sf.col("readable") | sf.coalesce(offset_of(last) < sf.col("log_start"), sf.lit(col=False))
    )
    apart = sf.when(in_log, ~at_an_end | between).otherwise(~not_known)
    return first.isNotNull() & sf.coalesce(apart, sf.lit(col=True))


def find(records: DataFrame, tables: Tables, facts: Facts, few: Few) -> DataFrame:
    """Return every delivery of some records, one row each.

    Columns: ``pk, seq``; ``group_index``, null of a group that the plan does not know; ``group,
    consumer, incarnation, event_seq, delivered_at, position``; ``ok``; ``taken_back`` by the abort
    of its transaction; ``absent``: it was ok and the log, as read, does not hold the record there;
    ``misplaced``: the log had settled as well.

    Args:
        records: ``pk, seq`` of the records.
        tables: the evidence.
        facts: the run's.
        few: marks rows that are no more than a few for each record, to be joined with.
    """
    wanted = few(records.select(*RECORD))
    mine = ours(tables.run)
    deliveries = (
        tables.consume.filter(mine)
        .withColumns(
            {
                "pk": key(),
                "position": facts.positions.column(),
                "group_index": facts.group_index(),
                "ok": sf.col("outcome") == DeliveryOutcome.OK.value,
                "taken_back": taken_back(facts),
            }
        )
        .join(wanted, RECORD, "left_semi")
    )
    in_log = (
        tables.log.filter(mine)
        .select(key().alias("pk"), "seq", facts.positions.column().alias("position"))
        .join(wanted, RECORD, "left_semi")
        .distinct()
        .withColumn("in_log", sf.lit(col=True))
    )
    tp = tp_of(sf.col("position"))
    known = sf.coalesce(
        offset_of(sf.col("position")) >= partition_bounds.start_of(tp, facts), sf.lit(col=False)
    )
    absent = sf.col("ok") & sf.col("in_log").isNull() & known
    settled = sf.coalesce(partition_bounds.settled(tp, facts), sf.lit(col=False))
    return deliveries.join(few(in_log), [*RECORD, "position"], "left").select(
        *RECORD,
        *("group_index", "group", "consumer", "incarnation", "event_seq", "delivered_at"),
        *("position", "ok", "taken_back"),
        absent.alias("absent"),
        (absent & settled).alias("misplaced"),
    )


def corrected(records: DataFrame, deliveries: DataFrame, facts: Facts, few: Few) -> DataFrame:
    """Return records with what reached each group from their own places.

    Args:
        records: as ``outcomes.judge`` returns them.
        deliveries: theirs, as ``find`` returns them.
        facts: the run's.
        few: as for ``find``.
    """
    columns = [sf.min(sf.when(sf.col("absent"), sf.col("position"))).alias("absent_from")]
    for group in facts.groups:
        here = (sf.col("group_index") == group.index) & ~sf.col("misplaced")
        state = sf.when(sf.col("taken_back"), TAKEN_BACK).otherwise(REACHED)
        columns += [
            sf.count(sf.when(here & sf.col("ok"), 1)).cast("int").alias(received_count(group)),
            sf.min(sf.when(here & sf.col("ok"), sf.col("delivered_at"))).alias(received_at(group)),
            sf.coalesce(sf.max(sf.when(here, state)), sf.lit(0)).alias(received_state(group)),
        ]
    found = deliveries.groupBy(*RECORD).agg(*columns)
    names = [name for name in found.columns if name not in RECORD]
    joined = records.drop(*names).join(few(found), RECORD)
    return joined.select(*records.columns)
