"""The files of a bundle that hold the metadata log.

Each recorder writes one, ``metadata_log/<incarnation>.jsonl``, from the first offset that the files
before it lack. What is committed never changes, so the files of several recorders are one log.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from krt_contract.metadata_log.record import LogRecord

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that cannot be read.

    Attributes:
        file: name of the file.
        line: its number, from 1.
        torn: whether it is the last line, and ends without a newline: the recorder was killed
            while it wrote.
    """

    file: str
    line: int
    torn: bool


@dataclass(frozen=True, slots=True)
class StoredLog:
    """The metadata log of a bundle.

    Attributes:
        records: by offset, each once.
        damages: what could not be read.
    """

    records: tuple[LogRecord, ...] = ()
    damages: tuple[Damage, ...] = ()

    @property
    def first(self) -> int | None:
        """The lowest offset; None where there is no record."""
        return self.records[0].offset if self.records else None

    @property
    def end(self) -> int:
        """The offset up to which nothing is missing after the first record; 0 without any."""
        end = self.first or 0
        for record in self.records:
            if record.offset != end:
                break
            end += 1
        return end

    def gaps(self) -> tuple[tuple[int, int], ...]:
        """Return the (first, last) missing offsets between the records."""
        return tuple(
            (before.offset + 1, after.offset - 1)
            for before, after in pairwise(self.records)
            if after.offset > before.offset + 1
        )


def read_log(folder: Path) -> StoredLog:
    """Read the metadata log of a bundle; nothing where the folder is not there.

    Raises:
        OSError: a file cannot be read.
    """
    paths = sorted(folder.glob("*.jsonl")) if folder.is_dir() else ()
    return parse_log((path.name, path.read_bytes()) for path in paths)


def parse_log(files: Iterable[tuple[str, bytes]]) -> StoredLog:
    """Read the metadata log out of its files, given by name and content."""
    found: dict[int, LogRecord] = {}
    damages: list[Damage] = []
    for name, content in files:
        lines = content.split(b"\n")
        for number, line in enumerate(lines, start=1):
            if not line:
                continue
            try:
                record = LogRecord.parse(line)
            except ValueError:
                damages.append(Damage(name, number, torn=number == len(lines)))
            else:
                found.setdefault(record.offset, record)
    return StoredLog(tuple(found[offset] for offset in sorted(found)), tuple(damages))
