"""Rows that no writer of ours records: each is named with its file and its number.

Footers say of most files that no row can be meant; only a column in which one may is read. The
order of polls is the exception: two columns of every delivery are read, a row group at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from krt_scoring.inputs.evidence import CONSUME, PRODUCER_SUMMARY
from krt_scoring.inputs.footers import IDENTITY
from krt_scoring.inputs.poll_order import polls_back
from krt_scoring.inputs.reasons import BY_TABLE, SEND_ANOMALIES, Reason
from krt_scoring.inputs.row_limits import GROUPED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from krt_scoring.inputs.bundle_files import Inspection
    from krt_scoring.inputs.row_limits import Range, RowLimits
    from krt_scoring.inputs.scope import Scope


@dataclass(frozen=True, slots=True)
class InvalidRows:
    """Rows of a file that are invalid for one cause.

    Attributes:
        first: number of the first one in the file, from 0.
        count: how many there are.
        cause: what is wrong with the first one.
        partitions: where they are; empty where that is not known.
    """

    path: Path
    first: int
    count: int
    cause: str
    partitions: frozenset[tuple[str, int]] = frozenset()


def checked(inspection: Inspection, limits: RowLimits) -> Inspection:
    """Return the inspection with a reason for each file that has invalid rows.

    The tables from which rows are to be left out are named; where times are, the run's are taken
    from the other rows.
    """
    reasons: list[Reason] = []
    unsound: set[str] = set()
    for table, files in sorted(inspection.files.items()):
        for path in files:
            for rows in _outside(path, table, limits):
                unsound.add(table)
                reasons.append(_reason(inspection, table, rows))
    reasons += [
        _reason(inspection, CONSUME, InvalidRows(step.path, step.row, 1, step.cause))
        for step in polls_back(inspection.files.get(CONSUME, ()))
    ]
    if not reasons:
        return inspection
    times = {
        (table, column): _within(span, limits) if table in unsound else span
        for (table, column), span in inspection.times.items()
    }
    return replace(
        inspection,
        reasons=(*inspection.reasons, *reasons),
        unsound=frozenset(unsound),
        times=times,
    )


def _within(span: Range, limits: RowLimits) -> Range:
    if limits.times is None:
        return span
    low, high = limits.times
    return min(max(span[0], low), high), max(min(span[1], high), low)


def _reason(inspection: Inspection, table: str, rows: InvalidRows) -> Reason:
    more = f", and {rows.count - 1} more of its rows are like it" if rows.count > 1 else ""
    message = (
        f"{rows.cause}, which no writer records{more}. Restore the file from its copy and score "
        "the bundle again"
    )
    invalidates = SEND_ANOMALIES if table == PRODUCER_SUMMARY else BY_TABLE[table]
    subject = f"{table}/{rows.path.name} row {rows.first}"
    return Reason(
        "evidence", "RowInvalid", subject, message, invalidates, _scope(inspection, table, rows)
    )


def _scope(inspection: Inspection, table: str, rows: InvalidRows) -> Scope:
    scope = inspection.scope(table, _writer(rows.path, table))
    if table in IDENTITY:
        return scope
    # Whoever writes these tables writes of every partition.
    return replace(scope, partitions=tuple(sorted(rows.partitions)))


def _writer(path: Path, table: str) -> str | None:
    """Return the incarnation that wrote a file, None where there are several or none is named."""
    if table not in IDENTITY:
        return None
    column = IDENTITY[table][1]
    found = pc.unique(pq.read_table(path, columns=[column])[column]).to_pylist()
    return str(found[0]) if len(found) == 1 else None


def _outside(path: Path, table: str, limits: RowLimits) -> Iterator[InvalidRows]:
    """Yield the rows of a file that are outside of the limits, for each column once."""
    with pq.ParquetFile(path) as file:
        for column, (low, high) in limits.ranges(table).items():
            masks = [
                (number, _beyond(_column(file, number, column), low, high))
                for number, (least, greatest) in _statistics(file, column)
                if least is None or least < low or greatest > high
            ]
            yield from _found(path, file, column, masks)
        if table in GROUPED:
            known = pa.array(sorted(limits.groups), pa.string())
            masks = [
                (number, pc.invert(pc.is_in(_column(file, number, "group"), value_set=known)))
                for number, (least, greatest) in _statistics(file, "group")
                if least != greatest or least not in limits.groups
            ]
            yield from _found(path, file, "group", masks)


def _column(file: pq.ParquetFile, number: int, column: str) -> pa.ChunkedArray:
    return file.read_row_group(number, columns=[column])[column]


def _beyond(values: pa.ChunkedArray, low: int, high: int) -> pa.ChunkedArray:
    return pc.or_(pc.less(values, low), pc.greater(values, high))


def _statistics(file: pq.ParquetFile, column: str) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """Yield each row group's number, and its least and greatest value of a column.

    Both are None where no statistics say so. A row group without any value is left out, and so is
    a column that the file does not have.
    """
    metadata = file.metadata
    paths = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    for number in range(metadata.num_row_groups if column in paths else 0):
        group = metadata.row_group(number)
        statistics = group.column(paths.index(column)).statistics
        if statistics is not None and statistics.has_min_max:
            yield number, (statistics.min, statistics.max)
        elif statistics is None or statistics.null_count < group.num_rows:
            yield number, (None, None)


def _found(
    path: Path, file: pq.ParquetFile, column: str, masks: list[tuple[int, pa.ChunkedArray]]
) -> Iterator[InvalidRows]:
    """Yield the rows that masks of row groups name, as one for the file."""
    first: tuple[int, Any] | None = None
    count = 0
    places: set[tuple[str, int]] = set()
    placed = {"topic", "partition"} - {column} <= set(file.schema_arrow.names) - {column}
    for number, mask in masks:
        rows = pc.indices_nonzero(pc.fill_null(mask, False)).to_pylist()  # noqa: FBT003 (a value)
        if not rows:
            continue
        count += len(rows)
        names = sorted({column, *(("topic", "partition") if placed else ())})
        bad = file.read_row_group(number, columns=names).take(rows)
        first = first or (_start(file, number) + rows[0], bad[column][0].as_py())
        if placed and column != "partition":
            places.update((row["topic"], row["partition"]) for row in bad.to_pylist())
    if first is not None:
        yield InvalidRows(path, first[0], count, f"{column} is {first[1]}", frozenset(places))


def _start(file: pq.ParquetFile, number: int) -> int:
    """Return how many rows lie before a row group."""
    return sum(file.metadata.row_group(item).num_rows for item in range(number))
