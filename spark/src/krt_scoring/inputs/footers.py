"""Footers: what a ledger file says about its rows without being read.

Writers, counters, ranges of times, and columns with the same value in every row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_scoring.inputs.evidence import CONSUME, CONSUMER_EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow.parquet as pq

TIMES = {
    "produce": ("scheduled_at", "done_at"),
    "consume": ("delivered_at",),
    "consumer_events": ("at",),
}
"""Columns whose range says when the run's operations were scheduled and done."""

IDENTITY = {
    "produce": ("producer", "producer_incarnation"),
    "producer_summary": ("producer", "producer_incarnation"),
    "consume": ("consumer", "incarnation"),
    "consumer_events": ("consumer", "incarnation"),
}
"""Ledgers are written by one incarnation a file; its columns in the footer name it."""


COUNTED = (CONSUME, CONSUMER_EVENTS)
"""Tables that share a counter, ``event_seq``, in each incarnation; each row names its group."""

CONSTANT = {
    "produce": ("topic", "outcome"),
    "consume": ("run_uid", "topic", "group", "outcome", "checksum_ok"),
    "log": ("run_uid", "topic", "state", "checksum_ok"),
}
"""Columns that may have the same value in every row: the run, its only topic or group, an outcome
where nothing failed, a checksum where nothing was damaged. Queries compare them several times a
row, which a constant saves; one that looks for another value is not run at all."""

Value = str | bool
"""What such a column holds."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows of an incarnation in the tables that share its counter, and the highest count."""

    rows: int
    highest: int


@dataclass(slots=True)
class Statistics:
    """What the footers of a table's usable files say.

    Attributes:
        rows: how many they have.
        writers: (identity, incarnation) pairs that wrote them.
        times: column → earliest and latest value, UTC µs.
        counters: (consumer, incarnation) → what it counted of deliveries and events.
        values: column → the value of each row group, None where one may have several.
        groups: consumer incarnation → its consumer groups.
    """

    rows: int = 0
    writers: set[tuple[str, str]] = field(default_factory=set)
    times: dict[str, tuple[int, int]] = field(default_factory=dict)
    counters: dict[tuple[str, str], Counted] = field(default_factory=dict)
    values: dict[str, set[Value | None]] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)

    @property
    def constants(self) -> dict[str, Value]:
        """Columns that have the same value in every row, and the value."""
        same = {name: found for name, found in self.values.items() if len(found) == 1}
        return {name: one for name, found in same.items() for one in found if one is not None}

    def add(self, metadata: pq.FileMetaData, table: str) -> None:
        """Add the footer of a file."""
        self.rows += metadata.num_rows
        self.writers.update(_writers(metadata, table))
        for who, highest, rows in _counts(metadata, table) if table in COUNTED else ():
            self.counters[who] = _sum(self.counters.get(who), Counted(rows, highest))
        for incarnation, groups in _groups(metadata) if table in COUNTED else ():
            self.groups.setdefault(incarnation, set()).update(groups)
        for column in TIMES.get(table, ()):
            for low, high in _ranges(metadata, column):
                before = self.times.get(column, (low, high))
                self.times[column] = min(before[0], low), max(before[1], high)
        for column in CONSTANT.get(table, ()):
            self.values.setdefault(column, set()).update(_values(metadata, column))


def sum_counters(
    parts: Iterable[Mapping[tuple[str, str], Counted]],
) -> dict[tuple[str, str], Counted]:
    """Return the counters of several tables, those of the same writer added up."""
    found: dict[tuple[str, str], Counted] = {}
    for part in parts:
        for who, counted in part.items():
            found[who] = _sum(found.get(who), counted)
    return found


def _sum(before: Counted | None, added: Counted) -> Counted:
    if before is None:
        return added
    return Counted(before.rows + added.rows, max(before.highest, added.highest))


def _writers(metadata: pq.FileMetaData, table: str) -> Iterator[tuple[str, str]]:
    if table not in IDENTITY:
        return
    names, incarnations = (list(_ranges(metadata, column)) for column in IDENTITY[table])
    for name, incarnation in zip(names, incarnations, strict=False):
        yield str(name[0]), str(incarnation[0])
        yield str(name[1]), str(incarnation[1])


def _counts(metadata: pq.FileMetaData, table: str) -> Iterator[tuple[tuple[str, str], int, int]]:
    """Yield the writer, the highest ``event_seq`` and the rows of each row group."""
    columns = (*IDENTITY[table], "event_seq")
    ranges = zip(*(_ranges(metadata, column) for column in columns), strict=False)
    for group, ((name, _), (incarnation, _), (_, high)) in enumerate(ranges):
        yield (str(name), str(incarnation)), int(high), metadata.row_group(group).num_rows


def _groups(metadata: pq.FileMetaData) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the incarnation and the groups of each row group that is of one incarnation."""
    columns = ("incarnation", "group")
    for (first, last), (low, high) in zip(
        *(_ranges(metadata, column) for column in columns), strict=False
    ):
        if first == last:
            yield str(first), (str(low), str(high))


def _ranges(metadata: pq.FileMetaData, column: str) -> Iterator[tuple[Any, Any]]:
    """Yield the least and greatest value of a column in each row group."""
    for statistics in _statistics(metadata, column):
        if statistics is not None and statistics.has_min_max:
            yield statistics.min, statistics.max


def _values(metadata: pq.FileMetaData, column: str) -> Iterator[Value | None]:
    """Yield the value that all rows of a row group have in a column, None where they may differ."""
    for statistics in _statistics(metadata, column):
        known = statistics is not None and statistics.has_min_max and statistics.null_count == 0
        yield statistics.min if known and statistics.min == statistics.max else None


def _statistics(metadata: pq.FileMetaData, column: str) -> Iterator[Any]:
    """Yield a column's statistics in each row group, None where there are none."""
    paths = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    index = paths.index(column)
    for group in range(metadata.num_row_groups):
        yield metadata.row_group(group).column(index).statistics
