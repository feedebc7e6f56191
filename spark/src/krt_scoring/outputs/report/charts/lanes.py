"""Charts of lanes: what lasted from when to when, each with its name in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring.outputs.report.charts.base import FROM, TO, Row, Spec, chart, css, time_x, values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_scoring.outputs.report.charts.axis import Axis


@dataclass(frozen=True, slots=True)
class Places:
    """Where things lie in a lane, in pixels from its top."""

    height: int
    name: int
    note: int
    bar: int
    bar_end: int

    @property
    def middle(self) -> int:
        """Of the bar."""
        return (self.bar + self.bar_end) // 2


PLAIN = Places(height=36, name=10, note=10, bar=18, bar_end=34)
NOTED = Places(height=50, name=10, note=24, bar=32, bar_end=48)
"""With a second line of text above the bar."""

CHARACTER = 6.0
"""Width of a character on average, rounded up: a text is drawn only where there is room for it."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that lasted.

    Attributes:
        begin, end: seconds on the axis.
        style: a colour of the page.
        text: stands in the bar where it fits, else nowhere.
        note: what is said when it is pointed at.
    """

    begin: float
    end: float
    style: str
    text: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at a moment, with its name beside it."""

    at: float
    text: str
    style: str = "fg"


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane of a chart.

    Attributes:
        name: stands above its bars.
        bars: what is in it.
        marks: moments.
        note: a second line above the bars.
    """

    name: str
    bars: Sequence[Bar] = ()
    marks: Sequence[Mark] = ()
    note: str = ""


def of_lanes(axis: Axis, lanes: Sequence[Lane], faults: Sequence[Row]) -> Spec:
    """Return a chart of lanes."""
    places = NOTED if any(lane.note for lane in lanes) else PLAIN
    layers = [_texts(lanes, places, notes=False)]
    if places is NOTED:
        layers.append(_texts(lanes, places, notes=True))
    end = axis.seconds(axis.end)
    bars: list[Row] = []
    marks: list[Row] = []
    for number, lane in enumerate(lanes):
        at = _placed(places, number)
        bars += [{**_bar(bar), **at} for bar in lane.bars]
        marks += [{**row, **at} for row in _mark_rows(lane.marks, end)]
    if bars:
        layers += [_bars(bars), _bar_texts(bars)]
    if marks:
        layers += _marks(marks)
    return chart(axis, layers, faults, places.height * len(lanes))


def _y(place: str) -> Spec:
    """Return the channel of a place in a lane."""
    return {"field": place, "type": "quantitative", "scale": None, "axis": None}


def _placed(places: Places, lane: int) -> Row:
    top = places.height * lane
    return {"bar": top + places.bar, "end": top + places.bar_end, "middle": top + places.middle}


def _bar(bar: Bar) -> Row:
    return {
        "t": bar.begin,
        "t2": bar.end,
        "style": css(bar.style),
        "text": bar.text,
        "note": bar.note or bar.text,
        "wide": _wide(bar.text),
    }


def _texts(lanes: Sequence[Lane], places: Places, *, notes: bool) -> Spec:
    """Return the names of the lanes, or their notes."""
    down = places.note if notes else places.name
    rows = [
        {"text": lane.note if notes else lane.name, "y": places.height * number + down}
        for number, lane in enumerate(lanes)
    ]
    mark: Spec = {"type": "text", "align": "left", "baseline": "middle", "aria": False}
    weight: Spec = {"fontWeight": 400, "fontSize": 10} if notes else {"fontWeight": 600}
    return {
        "data": values(rows),
        "mark": {**mark, **weight},
        "encoding": {
            "x": {"value": 4},
            "y": _y("y"),
            "text": {"field": "text", "type": "nominal"},
        },
    }


def _bars(rows: Sequence[Row]) -> Spec:
    return {
        "data": values(rows),
        "mark": {"type": "rect", "tooltip": True, "clip": True, "strokeWidth": 1},
        "encoding": {
            "x": time_x(),
            "x2": {"field": "t2"},
            "y": _y("bar"),
            "y2": {"field": "end"},
            "fill": {"field": "style", "type": "nominal", "scale": None, "legend": None},
            "stroke": {"value": css("bg")},
            "tooltip": [
                {"field": "note", "title": "what"},
                {"field": "t", "title": "from (s)"},
                {"field": "t2", "title": "to (s)"},
            ],
        },
    }


def _bar_texts(rows: Sequence[Row]) -> Spec:
    shown_from = f"max(datum.t, {FROM})"
    shown_to = f"min(datum.t2, {TO})"
    fits = f"({shown_to} - {shown_from}) / ({TO} - {FROM}) * width >= datum.wide"
    return {
        "data": values(rows),
        "transform": [
            {"calculate": shown_from, "as": "left"},
            {"filter": f"datum.text != '' && {fits}"},
        ],
        "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 4, "clip": True},
        "encoding": {
            "x": time_x("left"),
            "y": _y("middle"),
            "text": {"field": "text", "type": "nominal"},
            "color": {"value": css("on-mark")},
        },
    }


def _marks(rows: Sequence[Row]) -> list[Spec]:
    """Return moments as ticks, with their texts where there is room for them.

    A text stands on the right of its tick, else on the left; else it is left out, until the reader
    zooms in.
    """
    scale = f"(width / ({TO} - {FROM}))"
    encoding: Spec = {
        "x": time_x(),
        "y": _y("middle"),
        "color": {"field": "style", "type": "nominal", "scale": None, "legend": None},
    }
    ticks: Spec = {
        "data": values(rows),
        "mark": {"type": "tick", "thickness": 2, "height": 15, "clip": True, "tooltip": True},
        "encoding": {
            **encoding,
            "tooltip": [{"field": "text", "title": "what"}, {"field": "t", "title": "at (s)"}],
        },
    }
    on_right = f"(min(datum.next, {TO}) - datum.t) * {scale} >= datum.wide"
    on_left = f"(datum.t - max(datum.before, {FROM})) * {scale} >= datum.wide + datum.wideBefore"
    texts: list[Spec] = [
        {
            "data": values(rows),
            "transform": [{"filter": condition}],
            "mark": {
                "type": "text",
                "align": align,
                "baseline": "middle",
                "dx": shift,
                "clip": True,
            },
            "encoding": {**encoding, "text": {"field": "text", "type": "nominal"}},
        }
        for condition, align, shift in (
            (on_right, "left", 6),
            (f"!({on_right}) && {on_left}", "right", -6),
        )
    ]
    return [ticks, *texts]


def _mark_rows(marks: Sequence[Mark], end: float) -> list[Row]:
    """Return the marks of a lane, each with the room up to its neighbours."""
    ordered = sorted(marks, key=lambda mark: mark.at)
    rows: list[Row] = []
    for index, mark in enumerate(ordered):
        before = ordered[index - 1] if index else None
        following = ordered[index + 1].at if index + 1 < len(ordered) else end
        rows.append(
            {
                "t": mark.at,
                "text": mark.text,
                "style": css(mark.style),
                "wide": _wide(mark.text),
                "next": following,
                "before": 0 if before is None else before.at,
                "wideBefore": 0 if before is None else _wide(before.text),
            }
        )
    return rows


def _wide(text: str) -> float:
    return round(len(text) * CHARACTER + 10, 1)
