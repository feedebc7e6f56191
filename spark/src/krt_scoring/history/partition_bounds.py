"""Log bounds as columns: where the log of a topic-partition id that is a column begins and ends.

Looked up in a constant, for rows that name more than one partition: a join finds those of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column

    from krt_scoring.history.facts import Facts


def start_of(tp: Column, facts: Facts) -> Column:
    """Return the first offset of a partition's log; null where it was not read."""
    return look_up({key: bounds.log_start for key, bounds in facts.bounds.items()}, tp)


def end_of(tp: Column, facts: Facts) -> Column:
    """Return the offset above the last of a partition's log; null where it was not read."""
    return look_up({key: bounds.high_watermark for key, bounds in facts.bounds.items()}, tp)


def settled(tp: Column, facts: Facts) -> Column:
    """Whether a partition's log was read to an end at which it had settled."""
    return tp.isin(sorted(key for key, bounds in facts.bounds.items() if bounds.settled))


def look_up(values: Mapping[int, int], tp: Column) -> Column:
    """Return the value of a topic-partition id, null where it has none."""
    if not values:
        return sf.lit(None).cast("long")
    keys = sorted(values)
    # As text: a column for each number would be a call into the JVM for each.
    of, numbers = (
        ",".join(f"{number}L" for number in column)
        for column in (keys, [values[key] for key in keys])
    )
    return sf.try_element_at(sf.expr(f"map_from_arrays(array({of}),array({numbers}))"), tp)
