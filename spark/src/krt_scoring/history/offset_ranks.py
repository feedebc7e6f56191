"""Offset ranks: how many offsets that a reader can see lie below an offset.

Markers, aborted records and gaps have offsets but no rank, so a jump in offsets need not be a jump
over records. Which offsets are visible is stored as one bit each, 64 to a row: a rank is a sum of
bit counts, at a sixty-fourth of the rows. Without this shortcut, single offsets are ranked by a
window, with the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from krt_contract.outcomes import READ_COMMITTED, DeliveryOutcome
from krt_scoring.engine.session import Shortcut, takes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import Tables

WORD_BITS = 6
"""Offsets to a row: 2^6, the bits of a long."""

_LOW = (1 << WORD_BITS) - 1

ISOLATIONS = ("all", "committed")
"""What a reader sees: every offset that is in the log, or those of committed transactions only."""


def with_ranks(
    rows: DataFrame,
    tables: Tables,
    facts: Facts,
    partitions: Sequence[int],
    names: Mapping[str, str],
) -> DataFrame:
    """Return rows with the ranks of visible positions at their group's isolation.

    Args:
        rows: with the positions and ``committed_only``.
        tables: the evidence, which shows what is visible.
        facts: the run's.
        partitions: topic-partition ids, of all partitions that the positions lie in.
        names: column with a position → column for its rank, counted from 0.
    """
    visible = _visible(tables, facts, partitions)
    if not takes(rows.sparkSession, Shortcut.OFFSET_RANKS):
        ranks = _single(visible)
        for position, name in names.items():
            rows = _join_single(rows, ranks, position, name)
        return rows
    words = _words(visible)
    for position, name in names.items():
        rows = _join_words(rows, words, position, name)
    return rows


def _visible(tables: Tables, facts: Facts, partitions: Sequence[int]) -> DataFrame:
    """Return ``tp, position, committed`` of visible offsets, some of them several times."""

    def part(rows: DataFrame, committed: Column) -> DataFrame:
        return rows.select(
            facts.positions.tp_column().alias("tp"),
            facts.positions.column().alias("position"),
            committed.alias("committed"),
        )

    delivered = tables.consume.filter(sf.col("outcome") == DeliveryOutcome.OK.value)
    # An aborted transaction that a read_uncommitted group received was not for other groups.
    strict = [group.name for group in facts.groups if group.committed_only]
    rows = part(tables.log, sf.col("state").isin(*READ_COMMITTED)).unionAll(
        part(delivered, sf.col("group").isin(strict))
    )
    return rows.filter(sf.col("tp").isin(*partitions))


def _single(visible: DataFrame) -> DataFrame:
    """Return ``position`` with its rank of each isolation, one row an offset."""
    offsets = visible.groupBy("tp", "position").agg(
        sf.max(sf.col("committed").cast("int")).alias("committed")
    )
    below = Window.partitionBy("tp").orderBy("position").rowsBetween(Window.unboundedPreceding, -1)
    return offsets.select(
        sf.col("position").alias("_position"),
        sf.count("*").over(below).alias("_all"),
        sf.coalesce(sf.sum("committed").over(below), sf.lit(0)).alias("_committed"),
    )


def _join_single(rows: DataFrame, ranks: DataFrame, position: str, name: str) -> DataFrame:
    joined = rows.join(ranks, sf.col(position) == sf.col("_position"), "left")
    chosen = sf.when(sf.col("committed_only"), sf.col("_committed")).otherwise(sf.col("_all"))
    return joined.withColumn(name, chosen).drop("_position", "_all", "_committed")


def _shifted(bits: int, position: Column) -> Column:
    distance = position.bitwiseAND(sf.lit(_LOW)).cast("int")
    # shiftleft with a column as distance exists in SQL only.
    return sf.call_function("shiftleft", sf.lit(bits).cast("long"), distance)


def _words(visible: DataFrame) -> DataFrame:
    """Return the visible offsets, 64 a row.

    Columns: ``tp, word`` (position / 64); per isolation ``<i>_bits`` and ``<i>_before``, the
    number of visible offsets of the partition below the word.
    """
    bit = _shifted(1, sf.col("position"))
    words = (
        visible.withColumn("word", sf.shiftright("position", WORD_BITS))
        .groupBy("tp", "word")
        .agg(
            sf.bit_or(bit).alias("all_bits"),
            sf.bit_or(sf.when(sf.col("committed"), bit).otherwise(sf.lit(0).cast("long"))).alias(
                "committed_bits"
            ),
        )
    )
    before = Window.partitionBy("tp").orderBy("word").rowsBetween(Window.unboundedPreceding, -1)
    return words.withColumns(
        {
            f"{name}_before": sf.coalesce(
                sf.sum(sf.bit_count(f"{name}_bits")).over(before), sf.lit(0)
            )
            for name in ISOLATIONS
        }
    )


def _join_words(rows: DataFrame, words: DataFrame, position: str, name: str) -> DataFrame:
    word = f"_{name}_word"
    side = words.select(
        sf.col("word").alias(word), "all_bits", "all_before", "committed_bits", "committed_before"
    )
    joined = rows.withColumn(word, sf.shiftright(position, WORD_BITS)).join(side, word, "left")
    # Not the bit less one: the highest bit is the sign, and subtracting from it overflows.
    below = sf.bitwise_not(_shifted(-1, sf.col(position)))

    def rank(kind: str) -> Column:
        inside = sf.bit_count(sf.col(f"{kind}_bits").bitwiseAND(below))
        return sf.col(f"{kind}_before") + inside

    chosen = sf.when(sf.col("committed_only"), rank("committed")).otherwise(rank("all"))
    return joined.withColumn(name, chosen).drop(*side.columns)
