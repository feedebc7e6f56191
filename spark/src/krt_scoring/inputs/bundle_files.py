"""Which files of a bundle can be used, by their names and footers alone.

Nothing is repaired and nothing is written: a file that cannot be trusted is left out and named
in a reason, and the verdict says which anomalies that invalidates.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from krt_contract.bundle import Bundle
from krt_contract.schemas import ADDED, TABLES
from krt_scoring.errors import NotABundleError
from krt_scoring.inputs.evidence import LOG_END_OFFSETS, PRODUCE
from krt_scoring.inputs.footers import (
    COUNTED,
    IDENTITY,
    Counted,
    Statistics,
    Value,
    sum_counters,
)
from krt_scoring.inputs.reasons import BY_TABLE, Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

_NUMBERED = re.compile(r"^(?P<stem>.+)-(?P<number>\d{6})\.parquet$")


@dataclass(frozen=True, slots=True)
class Inspection:
    """The files of a bundle.

    Attributes:
        files: table → usable files, sorted by name.
        rows: table → rows in them.
        incarnations: table → (identity, incarnation) pairs that wrote them.
        times: (table, column) → earliest and latest value, UTC µs.
        reasons: which files are left out, and why.
        left_out: tables of which some file is not used.
        counters: (consumer, incarnation) → what it counted of deliveries and events.
        constants: table → columns that have the same value in every row, and the value.
        groups: consumer incarnation → its consumer groups, as far as a footer names them.
        unsound: tables with rows that are outside of the run's limits, and are left out.
        uris: file → where Spark reads it, of a bundle in an object store; empty of one in a folder.
    """

    bundle: Bundle
    files: Mapping[str, tuple[Path, ...]]
    rows: Mapping[str, int]
    incarnations: Mapping[str, frozenset[tuple[str, str]]]
    times: Mapping[tuple[str, str], tuple[int, int]]
    reasons: tuple[Reason, ...] = field(default=())
    left_out: frozenset[str] = frozenset()
    counters: Mapping[tuple[str, str], Counted] = field(default_factory=dict)
    constants: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unsound: frozenset[str] = frozenset()
    uris: Mapping[Path, str] = field(default_factory=dict)

    @property
    def sends(self) -> tuple[int, int]:
        """When the first and the last send were scheduled, UTC µs; 0 where nothing was sent."""
        return self.times.get((PRODUCE, "scheduled_at"), (0, 0))

    def scope(self, table: str, incarnation: str | None) -> Scope:
        """Return what rests on the rows that one incarnation wrote to a table.

        Args:
            table: of the bundle.
            incarnation: pod uid; None where it is not known who wrote them.
        """
        if incarnation is None or table not in IDENTITY:
            return Scope(tables=(table,))
        if table in COUNTED:
            groups = self.groups.get(incarnation, frozenset())
            return Scope(tables=(table,), groups=tuple(sorted(groups)))
        return Scope(tables=(table,), incarnations=(incarnation,))

    def writer(self, file: str) -> str | None:
        """Return the incarnation that wrote a file, by its name; None where that is not known.

        Args:
            file: its name, also of one that is not there or not used.
        """
        match = _NUMBERED.match(file)
        stem = match["stem"] if match else None
        for writers in self.incarnations.values():
            for identity, incarnation in sorted(writers):
                if stem in (incarnation, f"{identity}-{incarnation}"):
                    return incarnation
        return None

    def rows_by_partition(self, table: str) -> Counter[tuple[str, int]]:
        """Count the rows of a table in each partition; reads two columns of every file."""
        found: Counter[tuple[str, int]] = Counter()
        for path in self.files.get(table, ()):
            with pq.ParquetFile(path) as file:
                for number in range(file.num_row_groups):
                    rows = file.read_row_group(number, columns=["topic", "partition"])
                    found += count_by_partition(rows)
        return found


def count_by_partition(rows: pa.Table) -> Counter[tuple[str, int]]:
    """Count rows that have a topic and a partition."""
    counted = rows.group_by(["topic", "partition"]).aggregate([([], "count_all")])
    return Counter(
        {(row["topic"], row["partition"]): row["count_all"] for row in counted.to_pylist()}
    )


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


NEEDED = frozenset({PRODUCE, LOG_END_OFFSETS})
"""Tables every run of ours leaves a file of."""


def inspect(bundle: Bundle, *, deep: bool = False, needed: Collection[str] = NEEDED) -> Inspection:
    """Look at every ledger file's name, size and footer.

    Args:
        bundle: where they lie.
        needed: tables that must have a file.
        deep: read every file whole, which finds damage that a footer does not show.
    """
    tables = {
        table: inspect_table(bundle, table, deep=deep, needed=table in needed) for table in TABLES
    }
    found = Inspection(
        bundle,
        files={table: result.files for table, result in tables.items()},
        rows={table: result.statistics.rows for table, result in tables.items()},
        incarnations={
            table: frozenset(result.statistics.writers) for table, result in tables.items()
        },
        times={
            (table, column): pair
            for table, result in tables.items()
            for column, pair in result.statistics.times.items()
        },
        left_out=frozenset(table for table, result in tables.items() if result.left_out),
        counters=sum_counters(result.statistics.counters for result in tables.values()),
        constants={table: result.statistics.constants for table, result in tables.items()},
        groups=_groups(result.statistics for result in tables.values()),
    )
    reasons = (
        replace(reason, scope=found.scope(table, found.writer(reason.subject.rpartition("/")[2])))
        for table, result in tables.items()
        for reason in result.reasons
    )
    return replace(found, reasons=tuple(reasons))


def _groups(parts: Iterable[Statistics]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for part in parts:
        for incarnation, groups in part.groups.items():
            found[incarnation] = found.get(incarnation, frozenset()) | groups
    return found


@dataclass(slots=True)
class TableFiles:
    """The files of one table.

    Attributes:
        files: the usable ones, sorted by name.
        statistics: what their footers say.
        left_out: whether some file is not used.
        reasons: which files are left out, and why.
    """

    files: tuple[Path, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)
    left_out: bool = False
    reasons: list[Reason] = field(default_factory=list)


def inspect_table(
    bundle: Bundle, table: str, *, deep: bool = False, needed: bool = False
) -> TableFiles:
    """Look at the files of one table; arguments as of ``inspect``."""
    result = TableFiles()
    folder = bundle.table(table)
    paths = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
    if not paths:
        if needed:
            message = "no file of this table was recorded"
            result.reasons.append(_reason(table, "FileMissing", table, message))
        return result
    usable: list[Path] = []
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
        result.statistics.add(metadata, table)
    result.files = tuple(usable)
    result.left_out = len(usable) < len(paths)
    result.reasons.extend(_holes(table, [path.name for path in paths]))
    return result


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
