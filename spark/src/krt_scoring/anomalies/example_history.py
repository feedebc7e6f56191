"""The mini-history of an example: what was sent, stored and read around its offset."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from krt_scoring.engine.dataframes import union_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, Row

    from krt_scoring.anomalies.context import Context
    from krt_scoring.history.tables import Tables

REACH = 2
"""Offsets shown on either side of the example's: enough to see what took a record's place."""

MAX_ROWS = 24
"""Rows shown of one example; a record between two neighbours read by two groups fills 16."""

SHOWN = (
    *("offset", "at", "what", "producer", "producer_incarnation", "seq"),
    *("state", "grp", "consumer", "incarnation", "event_seq"),
)
"""What is shown of a row, and the order of rows, absent values first."""

PLACE = ("topic", "partition", "offset")
RECORD = ("producer", "producer_incarnation", "seq")


def add(ctx: Context, examples: Mapping[str, list[dict[str, Any]]]) -> None:
    """Add ``history`` and ``faults`` to every example that has a place or a record.

    One query over the ledgers for all examples together.
    """
    flat = [example for name in sorted(examples) for example in examples[name]]
    if not flat:
        return
    around = _Lookup.of(ctx, flat)
    found: dict[int, set[tuple[Any, ...]]] = defaultdict(set)
    for row in _near(ctx.history.tables, around).collect():
        for number in around.concerned(row):
            found[number].add(tuple(row[name] for name in SHOWN))
    for number, example in enumerate(flat):
        rows = sorted(found[number], key=_absent_first)[:MAX_ROWS]
        example["history"] = [
            {name: value for name, value in zip(SHOWN, row, strict=True) if value is not None}
            for row in rows
        ]
        times = [row["at"] for row in example["history"]]
        example["faults"] = [
            fault.name
            for fault in ctx.history.faults
            if times and fault.begin <= max(times) and fault.end >= min(times)
        ]


def _absent_first(row: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    return [(value is not None, value) for value in row]


@dataclass(frozen=True)
class _Lookup:
    """What is looked for.

    Attributes:
        places: topic, partition and offset → the examples that it is near to.
        records: producer, incarnation and seq → the examples that are about it.
    """

    places: Mapping[tuple[str, int, int], list[int]]
    records: Mapping[tuple[str, str, int], list[int]]

    @classmethod
    def of(cls, ctx: Context, examples: Sequence[Mapping[str, Any]]) -> _Lookup:
        places: dict[tuple[str, int, int], list[int]] = defaultdict(list)
        records: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        known = {
            (item.producer, item.incarnation) for item in ctx.history.facts.incarnations.values()
        }
        for number, example in enumerate(examples):
            topic, offset = example.get("topic"), example.get("offset")
            if offset is not None and topic is not None:
                for near in range(max(0, offset - REACH), offset + REACH + 1):
                    places[topic, example["partition"], near].append(number)
            identity = example.get("producer"), example.get("producer_incarnation")
            if identity in known and example.get("seq") is not None:
                records[*identity, example["seq"]].append(number)
        return cls(places, records)

    def concerned(self, row: Row) -> Iterable[int]:
        """Return the examples that a row is shown with."""
        place = tuple(row[name] for name in PLACE)
        record = tuple(row[name] for name in RECORD)
        return {*self.places.get(place, ()), *self.records.get(record, ())}

    def near(self) -> Column:
        """Return whether a row can be one of them; few others can."""
        return _among(PLACE, self.places) | _among(RECORD, self.records)


def _among(names: Sequence[str], tuples: Mapping[tuple[Any, ...], Any]) -> Column:
    """Return whether each column of a row has one of the values that it has in some tuple."""
    condition: Column = sf.lit(col=True)
    if not tuples:
        return sf.lit(col=False)
    for name, values in zip(names, zip(*tuples, strict=True), strict=True):
        condition = condition & _one_of(name, set(values))
    return condition


def _one_of(name: str, values: set[Any]) -> Column:
    if all(isinstance(value, int) for value in values):
        # As text: a list of columns would be a call into the JVM for each of up to 3000.
        return sf.expr(f"{name} IN ({','.join(map(str, sorted(values)))})")
    return sf.col(name).isin(*sorted(values))


TEXT, NUMBER = "string", "long"
ABSENT = {"group": TEXT, "consumer": TEXT, "incarnation": TEXT, "event_seq": NUMBER}
"""Columns that deliveries alone have, and their types."""


def _near(tables: Tables, lookup: _Lookup) -> DataFrame:
    """Return the rows of the ledgers that may be shown, with what ``SHOWN`` names and the topic."""
    parts = []
    for rows, what, at, state in (
        (tables.produce, "sent", "sent_at", "outcome"),
        (tables.log, "log", "timestamp", "state"),
        (tables.consume, "delivered", "delivered_at", "outcome"),
    ):
        filled = rows.withColumns(
            {
                name: sf.lit(None).cast(kind)
                for name, kind in ABSENT.items()
                if name not in rows.columns
            }
        )
        parts.append(
            filled.filter(lookup.near()).select(
                *(
                    "topic",
                    "partition",
                    "offset",
                    sf.col(at).alias("at"),
                    sf.lit(what).alias("what"),
                ),
                *("producer", "producer_incarnation", "seq", sf.col(state).alias("state")),
                *(sf.col("group").alias("grp"), "consumer", "incarnation", "event_seq"),
            )
        )
    return union_all(parts)
