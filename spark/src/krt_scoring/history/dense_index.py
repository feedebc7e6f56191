"""The dense index: an offset's rank among the offsets a reader can see.

Markers, aborted records and gaps have offsets but no index, so a jump in offsets need not be a
jump over records. Which offsets are visible is held as one bit each, 64 to a row: ranks are
sums of bit counts, at a sixty-fourth of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from krt_contract.outcomes import READ_COMMITTED, DeliveryOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import History

WORD_BITS = 6
"""Offsets to a row: 2^6, the bits of a long."""

_LOW = (1 << WORD_BITS) - 1


def _shifted(bits: int, place: Column) -> Column:
    distance = place.bitwiseAND(sf.lit(_LOW)).cast("int")
    # shiftleft with a column as distance exists in SQL only.
    return sf.call_function("shiftleft", sf.lit(bits).cast("long"), distance)


def _bit(place: Column) -> Column:
    return _shifted(1, place)


def _bits_below(place: Column) -> Column:
    # Not the bit less one: the highest bit is the sign, and subtracting from it overflows.
    return sf.bitwise_not(_shifted(-1, place))


def build(history: History, facts: Facts, partitions: Sequence[int]) -> DataFrame:
    """Return the visible offsets of some partitions (topic-partition ids), 64 a row.

    Columns: ``tp, word`` (place / 64); per isolation (``all``, ``committed``) ``<i>_bits`` and
    ``<i>_before``, the number of visible offsets of the partition below the word.
    """
    nothing = sf.lit(0).cast("long")
    bit = _bit(facts.places.column())
    committed = sf.col("state").isin(*READ_COMMITTED)

    def part(rows: DataFrame, all_bits: Column, committed_bits: Column) -> DataFrame:
        return rows.select(
            facts.places.tp_column().alias("tp"),
            sf.shiftright(facts.places.column(), WORD_BITS).alias("word"),
            all_bits.alias("all_bits"),
            committed_bits.alias("committed_bits"),
        )

    seen = history.consume.filter(sf.col("outcome") == DeliveryOutcome.OK)
    # What a read_uncommitted group got of an aborted transaction no other group was to get.
    strict = [group.name for group in facts.groups if group.committed_only]
    got = sf.when(sf.col("group").isin(strict), bit).otherwise(nothing)
    rows = part(history.log, bit, sf.when(committed, bit).otherwise(nothing)).unionAll(
        part(seen, bit, got)
    )
    words = (
        rows.filter(sf.col("tp").isin(*partitions))
        .groupBy("tp", "word")
        .agg(
            sf.bit_or("all_bits").alias("all_bits"),
            sf.bit_or("committed_bits").alias("committed_bits"),
        )
    )
    before = Window.partitionBy("tp").orderBy("word").rowsBetween(Window.unboundedPreceding, -1)
    return words.withColumns(
        {
            f"{name}_before": sf.coalesce(
                sf.sum(sf.bit_count(f"{name}_bits")).over(before), sf.lit(0)
            )
            for name in ("all", "committed")
        }
    )


def with_rank(rows: DataFrame, words: DataFrame, place: str, name: str) -> DataFrame:
    """Return rows with the rank of a visible place at its group's isolation.

    Args:
        rows: with the place and ``committed_only``.
        words: as built.
        place: column with the place.
        name: column for the rank, counted from 0.
    """
    word = f"_{name}_word"
    side = words.select(
        sf.col("word").alias(word), "all_bits", "all_before", "committed_bits", "committed_before"
    )
    joined = rows.withColumn(word, sf.shiftright(place, WORD_BITS)).join(side, word, "left")
    below = _bits_below(sf.col(place))

    def rank(kind: str) -> Column:
        inside = sf.bit_count(sf.col(f"{kind}_bits").bitwiseAND(below))
        return sf.col(f"{kind}_before") + inside

    chosen = sf.when(sf.col("committed_only"), rank("committed")).otherwise(rank("all"))
    return joined.withColumn(name, chosen).drop(*side.columns)
