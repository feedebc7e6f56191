"""Which files of a bundle can be used, told from their names and footers alone.

Nothing is repaired and nothing is written: a file that cannot be trusted is left out and named
in a reason, and the verdict says what that costs.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from krt_contract.bundle import Bundle
from krt_contract.schemas import ADDED, TABLES
from krt_scoring.errors import NotABundleError
from krt_scoring.inputs.reasons import BY_TABLE, Reason

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

_NUMBERED = re.compile(r"^(?P<stem>.+)-(?P<number>\d{6})\.parquet$")
_TIMES = {
    "produce": ("scheduled_at", "done_at"),
    "consume": ("delivered_at",),
    "consumer_events": ("at",),
}
"""Columns whose range says when the run's operations were due and done."""

_IDENTITY = {
    "produce": ("producer", "producer_incarnation"),
    "producer_summary": ("producer", "producer_incarnation"),
    "consume": ("consumer", "incarnation"),
    "consumer_events": ("consumer", "incarnation"),
}
"""Ledgers are written by one incarnation a file; its columns in the footer name it."""


_COUNTED = ("consume", "consumer_events")
"""Tables that share a counter, ``n``, in each incarnation."""

_ALIKE = {
    "produce": ("topic", "outcome"),
    "consume": ("run_uid", "topic", "group", "outcome"),
    "log": ("run_uid", "topic", "state"),
}
"""Columns that may hold one and the same text in every row: of one run, its only topic or group, or
where all went well. What compares them does so several times a row."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows of an incarnation in the tables that share its counter, and the highest count."""

    rows: int
    highest: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What lies in a bundle.

    Attributes:
        files: table → usable files, sorted by name.
        rows: table → rows in them.
        incarnations: table → (identity, incarnation) pairs that wrote them.
        times: (table, column) → earliest and latest value, UTC µs, as the footers tell.
        reasons: what was left out, and why.
        left_out: tables of which some file is not used.
        counters: (consumer, incarnation) → what it counted of deliveries and events.
        same: table → columns that are alike in every row, as the footers tell, and their text.
    """

    bundle: Bundle
    files: Mapping[str, tuple[Path, ...]]
    rows: Mapping[str, int]
    incarnations: Mapping[str, frozenset[tuple[str, str]]]
    times: Mapping[tuple[str, str], tuple[int, int]]
    reasons: tuple[Reason, ...] = field(default=())
    left_out: frozenset[str] = frozenset()
    counters: Mapping[tuple[str, str], Counted] = field(default_factory=dict)
    same: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def sends(self) -> tuple[int, int]:
        """When the first and the last send were due, UTC µs; 0 where nothing was sent."""
        return self.times.get(("produce", "scheduled_at"), (0, 0))


def require_bundle(root: Path) -> Bundle:
    """Return the bundle at ``root``.

    Raises:
        NotABundleError: the path is no directory or holds neither run.json nor a ledger.
    """
    bundle = Bundle(root)
    if not root.is_dir():
        raise NotABundleError(
            f"{root}: no such directory; give <evidence>/<namespace>/<name>/<uid>"
        )
    if not bundle.run_json.exists() and not any(bundle.table(name).is_dir() for name in TABLES):
        raise NotABundleError(f"{root}: holds no evidence bundle (neither run.json nor produce/)")
    return bundle


NEEDED = frozenset({"produce", "log_end_offsets"})
"""Tables every run of ours leaves a file of."""


def inspect(bundle: Bundle, *, deep: bool = False, needed: Collection[str] = NEEDED) -> Inspection:
    """Look at every ledger file's name, size and footer.

    Args:
        bundle: where they lie.
        needed: tables that must have a file.
        deep: read every file whole, which finds damage that a footer does not show.
    """
    files: dict[str, tuple[Path, ...]] = {}
    rows: dict[str, int] = {}
    incarnations: dict[str, frozenset[tuple[str, str]]] = {}
    times: dict[tuple[str, str], tuple[int, int]] = {}
    reasons: list[Reason] = []
    left_out: set[str] = set()
    counters: dict[tuple[str, str], Counted] = {}
    same: dict[str, dict[str, str]] = {}
    for table in TABLES:
        result = inspect_table(bundle, table, deep=deep, needed=table in needed)
        files[table], rows[table], incarnations[table] = result.files, result.rows, result.writers
        times.update({(table, column): pair for column, pair in result.times.items()})
        same[table] = result.same
        reasons.extend(result.reasons)
        for who, counted in result.counters.items():
            before = counters.get(who, Counted(0, -1))
            counters[who] = Counted(
                before.rows + counted.rows, max(before.highest, counted.highest)
            )
        if result.left_out:
            left_out.add(table)
    return Inspection(
        bundle,
        files,
        rows,
        incarnations,
        times,
        tuple(reasons),
        frozenset(left_out),
        counters,
        same,
    )


@dataclass(slots=True)
class Table:
    """What lies in one table's folder; the fields as of ``Inspection``."""

    files: tuple[Path, ...] = ()
    rows: int = 0
    writers: frozenset[tuple[str, str]] = frozenset()
    times: dict[str, tuple[int, int]] = field(default_factory=dict)
    left_out: bool = False
    reasons: list[Reason] = field(default_factory=list)
    counters: dict[tuple[str, str], Counted] = field(default_factory=dict)
    texts: dict[str, set[str | None]] = field(default_factory=dict)

    @property
    def same(self) -> dict[str, str]:
        """Columns that are alike in every row, and their text."""
        alike = {name: texts for name, texts in self.texts.items() if len(texts) == 1}
        return {name: text for name, texts in alike.items() for text in texts if text is not None}

    def count(self, who: tuple[str, str], rows: int, highest: int) -> None:
        """Add a row group of an incarnation."""
        before = self.counters.get(who, Counted(0, -1))
        self.counters[who] = Counted(before.rows + rows, max(before.highest, highest))

    def span(self, column: str, low: int, high: int) -> None:
        """Widen the range of a column of times."""
        before = self.times.get(column, (low, high))
        self.times[column] = min(before[0], low), max(before[1], high)


def inspect_table(bundle: Bundle, table: str, *, deep: bool = False, needed: bool = False) -> Table:
    """Look at the files of one table; arguments as of ``inspect``."""
    result = Table()
    folder = bundle.table(table)
    paths = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
    if not paths:
        if needed:
            message = "no file of this table was recorded"
            result.reasons.append(_reason(table, "FileMissing", table, message))
        return result
    usable: list[Path] = []
    writers: set[tuple[str, str]] = set()
    sizes: dict[tuple[int, int], list[Path]] = defaultdict(list)
    for path in paths:
        name = f"{table}/{path.name}"
        try:
            metadata = pq.read_metadata(path)
            problem = _schema_problem(metadata.schema.to_arrow_schema(), table)
            if deep and not problem:
                pq.read_table(path)
        except (pa.ArrowInvalid, OSError) as error:
            cause = str(error).splitlines()[0]
            message = f"truncated or no Parquet file ({cause})"
            result.reasons.append(_reason(table, "FileUnreadable", name, message))
            continue
        if problem:
            result.reasons.append(_reason(table, "SchemaDiffers", name, problem))
            continue
        twin = _twin(path, sizes[path.stat().st_size, metadata.num_rows])
        if twin:
            message = f"holds the same bytes as {table}/{twin.name}; counted once"
            result.reasons.append(_reason(table, "FileDuplicated", name, message))
            continue
        usable.append(path)
        writers.update(_writers(metadata, table))
        _take(result, metadata, table)
    result.files, result.writers = tuple(usable), frozenset(writers)
    result.left_out = len(usable) < len(paths)
    result.reasons.extend(_holes(table, [path.name for path in paths]))
    return result


def _take(result: Table, metadata: pq.FileMetaData, table: str) -> None:
    """Add what a usable file's footer tells."""
    result.rows += metadata.num_rows
    for who, high, count in _counts(metadata, table) if table in _COUNTED else ():
        result.count(who, count, high)
    for column in _TIMES.get(table, ()):
        for low, high in _ranges(metadata, column):
            result.span(column, low, high)
    for column in _ALIKE.get(table, ()):
        result.texts.setdefault(column, set()).update(_texts(metadata, column))


def _reason(table: str, code: str, subject: str, message: str) -> Reason:
    return Reason("evidence", code, subject, message, BY_TABLE[table])


def _schema_problem(found: pa.Schema, table: str) -> str:
    added = ADDED.get(table, frozenset())
    for column in TABLES[table]:
        index = found.get_field_index(column.name)
        if index < 0 and column.name in added:
            continue
        if index < 0:
            return f"column {column.name} is missing"
        if not _same_type(found.field(index).type, column.type):
            return f"column {column.name} is {found.field(index).type}, not {column.type}"
    return ""


def _same_type(left: pa.DataType, right: pa.DataType) -> bool:
    # Writers differ in what they call a list's element and whether it may be null.
    if pa.types.is_list(left) and pa.types.is_list(right):
        return bool(left.value_type == right.value_type)
    return bool(left == right)


def _twin(path: Path, candidates: list[Path]) -> Path | None:
    """Return an earlier file of the same bytes; only files of one size and count are hashed."""
    for other in candidates:
        if _digest(other) == _digest(path):
            return other
    candidates.append(path)
    return None


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _writers(metadata: pq.FileMetaData, table: str) -> Iterator[tuple[str, str]]:
    if table not in _IDENTITY:
        return
    names, incarnations = (list(_ranges(metadata, column)) for column in _IDENTITY[table])
    for name, incarnation in zip(names, incarnations, strict=False):
        yield str(name[0]), str(incarnation[0])
        yield str(name[1]), str(incarnation[1])


def _counts(metadata: pq.FileMetaData, table: str) -> Iterator[tuple[tuple[str, str], int, int]]:
    """Yield the writer, the highest ``n`` and the rows of each row group."""
    columns = (*_IDENTITY[table], "event_seq")
    ranges = zip(*(_ranges(metadata, column) for column in columns), strict=False)
    for group, ((name, _), (incarnation, _), (_, high)) in enumerate(ranges):
        yield (str(name), str(incarnation)), int(high), metadata.row_group(group).num_rows


def _ranges(metadata: pq.FileMetaData, column: str) -> Iterator[tuple[Any, Any]]:
    """Yield the least and greatest value of a column in each row group."""
    for statistics in _statistics(metadata, column):
        if statistics is not None and statistics.has_min_max:
            yield statistics.min, statistics.max


def _texts(metadata: pq.FileMetaData, column: str) -> Iterator[str | None]:
    """Yield the text all rows of a row group have in a column, None where one may have another."""
    for statistics in _statistics(metadata, column):
        told = statistics is not None and statistics.has_min_max and statistics.null_count == 0
        yield str(statistics.min) if told and statistics.min == statistics.max else None


def _statistics(metadata: pq.FileMetaData, column: str) -> Iterator[Any]:
    """Yield what the footer tells of a column in each row group, None where it tells nothing."""
    paths = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    index = paths.index(column)
    for group in range(metadata.num_row_groups):
        yield metadata.row_group(group).column(index).statistics


def _holes(table: str, names: list[str]) -> Iterator[Reason]:
    """Writers number their files from 0; a number that is not there is a file that is gone."""
    numbers: dict[str, set[int]] = defaultdict(set)
    for name in names:
        match = _NUMBERED.match(name)
        if match:
            numbers[match["stem"]].add(int(match["number"]))
    for stem, seen in sorted(numbers.items()):
        missing = sorted(set(range(max(seen) + 1)) - seen)
        if missing:
            first = f"{table}/{stem}-{missing[0]:06d}.parquet"
            message = f"is not there, nor are {len(missing) - 1} others before the writer's last"
            if len(missing) == 1:
                message = "is not there, though later files of its writer are"
            yield _reason(table, "FileMissing", first, message)
