"""The numbers of a chart of lines as a short table: a row for each stretch of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.outputs.report.charts.base import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROWS = 12
"""Rows of a table at most."""

STRETCHES = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200)
"""Seconds that a row may stand for."""

Values = list[int]


def stretch(seconds: float) -> int:
    """Return how many seconds a row stands for."""
    return next((length for length in STRETCHES if seconds / length <= ROWS), STRETCHES[-1])


def by_stretch(
    start: float,
    step: float,
    columns: Mapping[str, tuple[Sequence[int | None], Callable[[Values], int]]],
    show: Callable[[int], str],
) -> Table:
    """Return a table of columns that have a value for each step.

    Args:
        start: when the first step begins, seconds on the axis.
        step: length of a step in seconds.
        columns: heading → its values, and what makes one of those of a stretch.
        show: how a value is shown.
    """
    count = max((len(column) for column, _ in columns.values()), default=0)
    size = max(1, round(stretch(count * step) / step))
    rows = []
    for begin in range(0, count, size):
        end = min(begin + size, count)
        cells = [f"{_number(start + begin * step)} to {_number(start + end * step)} s"]
        for column, fold in columns.values():
            known = [value for value in column[begin:end] if value is not None]
            cells.append(show(fold(known)) if known else "none")
        rows.append(tuple(cells))
    return Table(("part of the run", *columns), tuple(rows))


def _number(seconds: float) -> str:
    return f"{seconds:g}"
