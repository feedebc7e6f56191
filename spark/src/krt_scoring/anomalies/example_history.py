"""The mini-history of an example: what was sent, stored and read around its offset."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from krt_scoring.engine import local_rows
from krt_scoring.engine.dataframes import union_all
from krt_scoring.history.identity import key

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.anomalies.context import Context

REACH = 2
"""Offsets shown on either side of the example's: enough to see what took a record's place."""

MAX_ROWS = 24
"""Rows shown of one example; a record between two neighbours read by two groups fills 16."""

WORDS_BITS, WORD_BITS = 9, 5
"""The table of low bits: 2^9 words of 2^5 bits, of which some 1000 offsets set 1 in 16."""

COLUMNS = (
    *("id", "offset", "at", "what", "producer", "producer_incarnation", "seq"),
    *("state", "grp", "consumer", "incarnation", "event_seq"),
)


def add(ctx: Context, examples: dict[str, list[dict[str, Any]]]) -> None:
    """Add ``history`` and ``faults`` to every example that has a place or a record.

    One query over the ledgers for all examples together.
    """
    flat = [example for name in sorted(examples) for example in examples[name]]
    if not flat:
        return
    rows = _around(ctx, flat).collect()
    found: dict[int, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["id"], row["nth"])):
        shown = {name: row[name] for name in COLUMNS[1:] if row[name] is not None}
        found.setdefault(row["id"], []).append(shown)
    for number, example in enumerate(flat):
        history = found.get(number, [])
        example["history"] = history
        times = [row["at"] for row in history]
        example["faults"] = [
            fault.name
            for fault in ctx.history.faults
            if times and fault.begin <= max(times) and fault.end >= min(times)
        ]


@dataclass(frozen=True)
class _Asked:
    """What is looked for.

    Attributes:
        places: (example, topic, partition, offset).
        records: (example, key of the producer incarnation, seq).
    """

    PLACE: ClassVar = ("topic", "partition", "offset")
    RECORD: ClassVar = ("pk", "seq")
    SCHEMA: ClassVar = "id int, _topic string, _partition int, _offset long, _pk long, _seq long"

    positions: list[tuple[int, str, int, int]]
    records: list[tuple[int, int, int]]

    def rows(self) -> list[tuple[int | str | None, ...]]:
        """Return both as rows of ``SCHEMA``."""
        return [(*position, None, None) for position in self.positions] + [
            (number, None, None, None, pk, seq) for number, pk, seq in self.records
        ]

    def near(self) -> Column:
        """Whether a row can be one of them by its own columns: most cannot."""
        offsets: dict[tuple[str, int], set[int]] = {}
        for _, topic, partition, offset in self.positions:
            offsets.setdefault((topic, partition), set()).add(offset)
        near = sf.col("seq").isin(*sorted({seq for _, _, seq in self.records}))
        for (topic, partition), lookups in sorted(offsets.items()):
            here = (sf.col("topic") == topic) & (sf.col("partition") == partition)
            near = near | (here & sf.col("offset").isin(*sorted(lookups)))
        return near

    def alike(self) -> Column:
        """Whether the low bits of a row's numbers are those of one of them: two looks into a table.

        It lets by one row in a dozen, where what it is asked for needs a comparison for each
        partition.
        """
        seqs = {seq for _, _, seq in self.records}
        offsets = {offset for *_, offset in self.positions}
        return _low_bits("seq", seqs) | _low_bits("offset", offsets)


def _low_bits(column: str, lookups: set[int]) -> Column:
    """Whether the low bits of a column, null for none, are those of one of some numbers."""
    words = [0] * (1 << WORDS_BITS)
    for number in lookups:
        low = number & ((1 << (WORDS_BITS + WORD_BITS)) - 1)
        words[low >> WORD_BITS] |= 1 << (low & ((1 << WORD_BITS) - 1))
    # As text: a column for each word would be a call into the JVM for each.
    table = sf.expr(f"array({','.join(f'{word}L' for word in words)})")
    position = sf.shiftright(column, WORD_BITS).bitwiseAND(sf.lit((1 << WORDS_BITS) - 1))
    bit = sf.col(column).bitwiseAND(sf.lit((1 << WORD_BITS) - 1)).cast("int")
    word = sf.get(table, position.cast("int"))
    return sf.coalesce(sf.call_function("shiftright", word, bit) % 2 == 1, sf.lit(col=False))


def _asked(ctx: Context, examples: list[dict[str, Any]]) -> _Asked:
    positions, records = [], []
    keys = {
        (item.producer, item.incarnation): item.key
        for item in ctx.history.facts.incarnations.values()
    }
    for number, example in enumerate(examples):
        offset, topic = example.get("offset"), example.get("topic")
        if offset is not None and topic is not None:
            around = range(max(0, offset - REACH), offset + REACH + 1)
            positions += [(number, topic, example["partition"], near) for near in around]
        identity = example.get("producer"), example.get("producer_incarnation")
        if identity in keys and example.get("seq") is not None:
            records.append((number, keys[identity], example["seq"]))
    return _Asked(positions, records)


def _around(ctx: Context, examples: list[dict[str, Any]]) -> DataFrame:
    asked = _asked(ctx, examples)
    lookups = sf.broadcast(local_rows.frame(ctx.spark, asked.rows(), _Asked.SCHEMA))
    parts = []
    for rows, what, at, state in (
        (ctx.history.tables.produce, "sent", "sent_at", "outcome"),
        (ctx.history.tables.log, "log", "timestamp", "state"),
        (ctx.history.tables.consume, "delivered", "delivered_at", "outcome"),
    ):
        near = rows.filter(asked.alike()).filter(asked.near()).withColumn("pk", key())
        there = reduce(and_, [near[name] == lookups[f"_{name}"] for name in _Asked.PLACE])
        same = reduce(and_, [near[name] == lookups[f"_{name}"] for name in _Asked.RECORD])
        parts.append(_shown(near.join(lookups, there | same), what, at, state))
    order = [sf.col(name).asc_nulls_first() for name in COLUMNS[1:]]
    ranked = union_all(parts).distinct()
    nth = sf.row_number().over(Window.partitionBy("id").orderBy(*order))
    return ranked.withColumn("nth", nth).filter(sf.col("nth") <= MAX_ROWS)


def _shown(rows: DataFrame, what: str, at: str, state: str) -> DataFrame:
    names = rows.columns
    text = sf.lit(None).cast("string")
    return rows.select(
        *("id", "offset", sf.col(at).alias("at"), sf.lit(what).alias("what")),
        *("producer", "producer_incarnation", "seq", sf.col(state).alias("state")),
        (sf.col("group") if "group" in names else text).alias("grp"),
        *[(sf.col(name) if name in names else text).alias(name) for name in COLUMNS[9:11]],
        (sf.col("event_seq") if "event_seq" in names else sf.lit(None).cast("long")).alias(
            "event_seq"
        ),
    )
