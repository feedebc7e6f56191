"""Under which keys an object store keeps a bundle, and which files of a bundle they make.

An object is written whole and never again: an object store appends nothing and renames nothing,
and a put that was given up may land after the one that was tried next. So what grows is written in
numbered parts, and what is written again takes the next *generation* of its number::

    produce/main-0-<uid>-000003.000007.parquet    timeline/recorder-<uid>-000012.000000.jsonl
    logs/<pod>-<uid>-000000.000000.log            run-000000.000002.json
    log/<attempt>/part-….parquet                  log_end_offsets/<attempt>-000000.000000.parquet
    log/<attempt>/scoring-000000.000000.parquet

Spark's executors write the log, or the driver where its records are few. Of each number the
highest generation counts. In a folder, a bundle has the layout of ``krt_contract.bundle``;
``resolve`` names the keys that each of its files is made of.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krt_contract.stores.store import Entry

TABLE_SUFFIX = ".parquet"
LOG_TABLE = "log"
LOG_ENDS = "log_end_offsets"
SCORING_STEM = "scoring"
"""Stem of what the driver writes itself, whichever attempt it is."""

_PART = re.compile(r"^(?P<stem>.+)-(?P<number>\d{6})\.(?P<generation>\d{6})(?P<suffix>\.[a-z]+)$")


class Part(NamedTuple):
    """A numbered part of a file of a bundle.

    Attributes:
        stem: the file, without number and suffix.
        number: which part of it, from 0.
        generation: how many times the part was written before.
        suffix: of the file, with its dot.
    """

    stem: str
    number: int
    generation: int
    suffix: str

    @property
    def name(self) -> str:
        """The last component of its key."""
        return f"{self.stem}-{self.number:06d}.{self.generation:06d}{self.suffix}"


def parse_part(name: str) -> Part | None:
    """Return the part that the last component of a key names, or None where it names none."""
    match = _PART.match(name)
    if match is None:
        return None
    number, generation = int(match["number"]), int(match["generation"])
    return Part(match["stem"], number, generation, match["suffix"])


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a bundle and the objects that it is made of, one after the other.

    Attributes:
        path: of the file, relative to the bundle.
        entries: the objects.
    """

    path: str
    entries: tuple[Entry, ...]


def resolve(bundle: str, entries: Iterable[Entry]) -> Iterator[Source]:
    """Yield the files of a bundle, in order of their paths.

    Args:
        bundle: the key of the bundle, ``<namespace>/<name>/<uid>``.
        entries: every key below it.
    """
    files: dict[str, dict[int, tuple[int, Entry]]] = defaultdict(dict)
    known = list(entries)
    attempt = counted_attempt(bundle, known)
    for entry in known:
        found = _file_of(entry.key.removeprefix(f"{bundle}/"), attempt)
        if found is None:
            continue
        path, number, generation = found
        before = files[path].get(number)
        if before is None or before[0] < generation:
            files[path][number] = generation, entry
    for path, parts in sorted(files.items()):
        yield Source(path, tuple(parts[number][1] for number in sorted(parts)))


def counted_attempt(bundle: str, entries: Iterable[Entry]) -> str | None:
    """Return the attempt at scoring whose reading of the topics counts; None while none does.

    An attempt writes ``log_end_offsets`` when its ``log/<attempt>/`` is complete. Should two have
    done so, both have read the same records.
    """
    folder = f"{bundle}/{LOG_ENDS}/"
    parts = (
        parse_part(entry.key.removeprefix(folder))
        for entry in entries
        if entry.key.startswith(folder)
    )
    return min((part.stem for part in parts if part), default=None)


def _file_of(path: str, attempt: str | None) -> tuple[str, int, int] | None:
    """Return the file that a key is a part of, the part's number and generation."""
    folder, _, name = path.rpartition("/")
    if name.startswith("_") or "/_" in f"/{folder}":
        return None  # what Spark notes beside what it writes
    if folder.partition("/")[0] == LOG_TABLE:
        if attempt is None or folder.partition("/")[2] != attempt:
            return None
        folder = LOG_TABLE
    above = f"{folder}/" if folder else ""
    part = parse_part(name)
    if part is None:
        return f"{above}{name}", 0, 0
    if folder == LOG_ENDS:
        if part.stem != attempt:
            return None
        part = part._replace(stem=SCORING_STEM)
    if part.suffix == TABLE_SUFFIX:
        return f"{above}{part.stem}-{part.number:06d}{part.suffix}", 0, part.generation
    return f"{above}{part.stem}{part.suffix}", part.number, part.generation
