"""The mini-history of an example: what was sent, held and read around its offset."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from krt_scoring.derive.facts import key
from krt_scoring.derive.places import OFFSET_BITS

if TYPE_CHECKING:
    from krt_scoring.derive.base import Base

REACH = 2
"""Offsets shown on either side of the example's: enough to see what took a record's place."""

MAX_ROWS = 24
"""Rows shown of one example; a record between two neighbours read by two groups fills 16."""

COLUMNS = (
    *("id", "offset", "at", "what", "producer", "producer_incarnation", "seq"),
    *("state", "grp", "consumer", "incarnation", "n"),
)


def add(base: Base, examples: dict[str, list[dict[str, Any]]]) -> None:
    """Add ``history`` and ``faults`` to every example that has a place or a record.

    One query over the ledgers for all examples together.
    """
    flat = [example for name in sorted(examples) for example in examples[name]]
    if not flat:
        return
    rows = _around(base, flat).collect()
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
            for fault in base.faults
            if times and fault.begin <= max(times) and fault.end >= min(times)
        ]


def _keys(base: Base, examples: list[dict[str, Any]]) -> tuple[DataFrame, DataFrame]:
    """Return (id, place) of the offsets to show and (id, pk, seq) of the records."""
    places, records = [], []
    keys = {
        (item.producer, item.incarnation): item.key for item in base.facts.incarnations.values()
    }
    for number, example in enumerate(examples):
        offset, topic = example.get("offset"), example.get("topic")
        if offset is not None and topic is not None:
            at = (base.facts.places.tp(topic, example["partition"]) << OFFSET_BITS) | offset
            places += [(number, at + step) for step in range(-min(REACH, offset), REACH + 1)]
        identity = example.get("producer"), example.get("producer_incarnation")
        if identity in keys and example.get("seq") is not None:
            records.append((number, keys[identity], example["seq"]))
    return (
        base.spark.createDataFrame(places, "id int, place long"),
        base.spark.createDataFrame(records, "id int, pk long, seq long"),
    )


def _around(base: Base, examples: list[dict[str, Any]]) -> DataFrame:
    by_place, by_record = (sf.broadcast(keys) for keys in _keys(base, examples))
    place = base.facts.places.column()
    sent = base.history.produce.withColumns({"place": place, "pk": key()})
    held = base.history.log.withColumns({"place": place, "pk": key()})
    got = base.history.consume.withColumns({"place": place, "pk": key()})
    parts = []
    for rows, what, at, state in (
        (sent, "sent", "sent_at", "outcome"),
        (held, "log", "timestamp", "state"),
        (got, "delivered", "handed_at", "outcome"),
    ):
        joined = (rows.join(by_place, "place"), rows.join(by_record, ["pk", "seq"]))
        parts += [_shown(part, what, at, state) for part in joined]
    order = [sf.col(name).asc_nulls_first() for name in COLUMNS[1:]]
    ranked = reduce(DataFrame.unionAll, parts).distinct()
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
        (sf.col("n") if "n" in names else sf.lit(None).cast("long")).alias("n"),
    )
