"""Numbers of polls that go back: a consumer counts its polls, in the order of its own events.

A member's deliveries are in the order of ``event_seq``, whatever the order of files and rows.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

ORDER = ("incarnation", "event_seq")


@dataclass(frozen=True, slots=True)
class StepBack:
    """A delivery whose poll has a lower number than the one before it.

    Attributes:
        row: its number in the file, from 0.
    """

    path: Path
    row: int
    poll: int
    before: int

    @property
    def cause(self) -> str:
        """What is wrong with the row."""
        return f"poll is {self.poll} after {self.before}"


@dataclass(frozen=True, slots=True)
class _Piece:
    """The deliveries of one incarnation in one row group, in order: the first and the last one.

    Attributes:
        group: number of the row group in the file.
        start: number of its first row in the file, from 0.
        row: number in the file of the first delivery.
    """

    path: Path
    group: int
    start: int
    row: int
    first_seq: int
    last_seq: int
    first_poll: int
    last_poll: int


def polls_back(files: Iterable[Path]) -> Iterator[StepBack]:
    """Yield the first such delivery in each row group, and where one begins with such."""
    pieces: dict[str, list[_Piece]] = defaultdict(list)
    for path in files:
        with pq.ParquetFile(path, read_dictionary=["incarnation"]) as file:
            start = 0
            for number in range(file.num_row_groups):
                rows = _read(file, number)
                for incarnation, own in _by_incarnation(rows):
                    back = _first_back(own.polls)
                    if back is not None:
                        polls = own.polls[back].as_py(), own.polls[back - 1].as_py()
                        yield StepBack(path, start + own.row(back), *polls)
                    pieces[incarnation].append(own.piece(path, number, start))
                start += rows.num_rows
    for incarnation, own_pieces in pieces.items():
        ordered = sorted(own_pieces, key=lambda item: item.first_seq)
        if any(piece.first_seq < before.last_seq for before, piece in pairwise(ordered)):
            yield from _between_interleaved(incarnation, ordered)
            continue
        for before, piece in pairwise(ordered):
            if piece.first_poll < before.last_poll:
                yield StepBack(piece.path, piece.row, piece.first_poll, before.last_poll)


def _read(file: pq.ParquetFile, group: int) -> pa.Table:
    return file.read_row_group(group, columns=[*ORDER, "poll"])


def _between_interleaved(incarnation: str, pieces: Sequence[_Piece]) -> Iterator[StepBack]:
    """Yield the first such delivery whose predecessor lies in another row group.

    No writer spreads the deliveries of an incarnation so that row groups overlap; who copied the
    files may have. All of them are put in order then.
    """
    found: list[tuple[int, int, int, int]] = []
    for index, piece in enumerate(pieces):
        with pq.ParquetFile(piece.path, read_dictionary=["incarnation"]) as file:
            own = dict(_by_incarnation(_read(file, piece.group)))[incarnation]
        rows = range(len(own.seqs))
        numbers = [piece.start + own.row(row) for row in rows]
        seqs, polls = own.seqs.to_pylist(), own.polls.to_pylist()
        found += zip(seqs, polls, [index] * len(rows), numbers, strict=True)
    for (_, before, left, _), (_, poll, right, row) in pairwise(sorted(found)):
        if poll < before and left != right:
            yield StepBack(pieces[right].path, row, poll, before)
            return


@dataclass(frozen=True, slots=True)
class _Own:
    """The deliveries of one incarnation in a row group, in order.

    Attributes:
        rows: their numbers in the row group; None where they are all of its rows as they lie.
    """

    seqs: pa.Array
    polls: pa.Array
    rows: pa.Array | None

    def row(self, index: int) -> int:
        """Return the number in the row group of one of them."""
        return index if self.rows is None else int(self.rows[index].as_py())

    def piece(self, path: Path, group: int, start: int) -> _Piece:
        """Return the first and the last one, of a row group that begins at a row."""
        return _Piece(
            path,
            group,
            start,
            start + self.row(0),
            self.seqs[0].as_py(),
            self.seqs[-1].as_py(),
            self.polls[0].as_py(),
            self.polls[-1].as_py(),
        )


def _by_incarnation(rows: pa.Table) -> Iterator[tuple[str, _Own]]:
    incarnations, seqs, polls = (rows[name].combine_chunks() for name in (*ORDER, "poll"))
    names = pc.unique(incarnations).to_pylist()
    for name in names:
        if len(names) == 1 and _grows(seqs):
            yield name, _Own(seqs, polls, None)
            continue
        own = pc.indices_nonzero(pc.equal(incarnations.cast(pa.string()), name))
        order = own.take(pc.sort_indices(seqs.take(own)))
        yield name, _Own(seqs.take(order), polls.take(order), order)


def _grows(values: pa.Array) -> bool:
    """Whether each value is greater than the one before, as a writer leaves its counter."""
    least = pc.min(pc.pairwise_diff(values)).as_py()
    return least is None or least > 0


def _first_back(polls: pa.Array) -> int | None:
    """Return the index of the first poll that is lower than the one before it."""
    lower = pc.less(pc.pairwise_diff(polls), 0)
    found = pc.index(lower, True).as_py()
    return None if found < 0 else found
