"""Charts of what is counted in every second: sends, latencies, lag, replication."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from krt_scoring.outputs.report.charts.base import Row, Spec, chart, css, time_x, values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_scoring.outputs.report.charts.axis import Axis

MAX_POINTS = 1_200
"""Points of a line at most; of a longer run several steps are drawn as one."""

HEIGHT = 130

Style = tuple[str, tuple[int, ...]]
"""Colour and dashes of a line."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart.

    Attributes:
        label: what it shows.
        colour: a colour of the page.
        dash: its dashes, so that it is known without its colour.
        values: its value at each time; None where it has none.
    """

    label: str
    colour: str
    dash: tuple[int, ...]
    values: Sequence[int | float | None]


@dataclass(frozen=True, slots=True)
class Vertical:
    """The vertical axis of a chart.

    Attributes:
        title: what is on it, with its unit.
        log: whether its scale is logarithmic.
    """

    title: str
    log: bool = False


def thinned(
    column: Sequence[int | None], every: int, *, add: bool = False
) -> list[int | float | None]:
    """Return a column with so many steps in one: their mean where they add up, else their largest.

    Args:
        column: one value a step.
        every: steps that become one.
        add: whether the values are counts of a step.
    """
    if every == 1:
        return list(column)
    found: list[int | float | None] = []
    for start in range(0, len(column), every):
        known = [value for value in column[start : start + every] if value is not None]
        if not known:
            found.append(None)
        else:
            found.append(round(sum(known) / len(known), 1) if add else max(known))
    return found


def sparse(changes: Sequence[tuple[float, int]], length: float) -> list[tuple[float, int]]:
    """Return changes without those that lie too close to be distinguished.

    Of a stretch in which they do, the first time with the value that is farthest from the one
    before, and the last change, are kept: a peak is never lost.

    Args:
        changes: (seconds, value), in order of time.
        length: of the axis in seconds.
    """
    found: list[tuple[float, int]] = []
    value = 0
    for _, group in groupby(changes, key=lambda change: int(change[0] * MAX_POINTS / length)):
        stretch = list(group)
        farthest = max((item for _, item in stretch), key=lambda item: abs(item - value))
        found.append((stretch[0][0], farthest))
        if stretch[-1] != found[-1]:
            found.append(stretch[-1])
        value = stretch[-1][1]
    return found


def steps_in_one(series: Mapping[str, Any]) -> int:
    """Return how many steps of a series are drawn as one."""
    return max(1, -(-int(series["count"]) // MAX_POINTS))


def times(axis: Axis, series: Mapping[str, Any], every: int) -> list[float]:
    """Return the middle of each drawn step on the axis."""
    step = series["step"] * every
    count = -(-series["count"] // every)
    return [axis.seconds(series["start"] + step * i + step // 2) for i in range(count)]


def of_lines(
    axis: Axis,
    at: Sequence[float],
    lines: Sequence[Line],
    faults: Sequence[Row],
    vertical: Vertical,
) -> Spec:
    """Return a chart of lines.

    Args:
        axis: the axis of time.
        at: the times of the lines' values.
        lines: what is drawn.
        faults: the shade behind it.
        vertical: its vertical axis.
    """
    names = [f"v{number}" for number in range(len(lines))]
    rows = [
        {"t": t, **{name: line.values[i] for name, line in zip(names, lines, strict=True)}}
        for i, t in enumerate(at)
    ]
    labels = [{"key": name, "series": line.label} for name, line in zip(names, lines, strict=True)]
    order = {"field": "key", "type": "nominal", "legend": None}
    layer = {
        "data": values(rows),
        "transform": [
            {"fold": names, "as": ["key", "value"]},
            {"lookup": "key", "from": {"data": values(labels), "key": "key", "fields": ["series"]}},
        ],
        "mark": {"type": "line", "clip": True, "tooltip": True},
        "encoding": {
            "x": time_x(),
            "y": {
                "field": "value",
                "type": "quantitative",
                "scale": {"type": "log"} if vertical.log else {"zero": True},
                "axis": {
                    "title": vertical.title,
                    "format": "~s",
                    **_ticks(lines, log=vertical.log),
                },
            },
            "stroke": {
                **order,
                "scale": {"domain": names, "range": [css(line.colour) for line in lines]},
            },
            "strokeDash": {
                **order,
                "scale": {"domain": names, "range": [list(line.dash) for line in lines]},
            },
            "tooltip": [
                {"field": "series", "title": "line"},
                {"field": "t", "title": "s"},
                {"field": "value", "title": vertical.title},
            ],
        },
    }
    return chart(axis, [layer], faults, HEIGHT)


def _ticks(lines: Sequence[Line], *, log: bool) -> Spec:
    """Return where the vertical axis has ticks: on a log scale at the powers of ten."""
    if not log:
        return {"tickCount": 4}
    known = [value for line in lines for value in line.values if value]
    if not known:
        return {}
    low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
    return {"values": [10**exponent for exponent in range(low, high + 1)]}


def of_steps(
    axis: Axis, lines: Sequence[tuple[Line, Sequence[float]]], faults: Sequence[Row], title: str
) -> Spec:
    """Return a chart of values that stay until they change, each with its own times."""
    rows = [
        {"t": t, "value": value, "key": f"v{number}", "series": line.label}
        for number, (line, at) in enumerate(lines)
        for t, value in zip(at, line.values, strict=True)
    ]
    names = [f"v{number}" for number in range(len(lines))]
    order = {"field": "key", "type": "nominal", "legend": None}
    layer = {
        "data": values(rows),
        "mark": {
            "type": "line",
            "interpolate": "step-after",
            "clip": True,
            "tooltip": True,
        },
        "encoding": {
            "x": time_x(),
            "y": {
                "field": "value",
                "type": "quantitative",
                "scale": {"zero": True},
                "axis": {"title": title, "tickCount": 4, "format": "~r"},
            },
            "stroke": {
                **order,
                "scale": {"domain": names, "range": [css(line.colour) for line, _ in lines]},
            },
            "strokeDash": {
                **order,
                "scale": {"domain": names, "range": [list(line.dash) for line, _ in lines]},
            },
            "tooltip": [
                {"field": "series", "title": "line"},
                {"field": "t", "title": "s"},
                {"field": "value", "title": title},
            ],
        },
    }
    return chart(axis, [layer], faults, HEIGHT)
