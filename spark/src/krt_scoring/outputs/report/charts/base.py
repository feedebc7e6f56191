"""What all charts have in common: the axis of time, the shade of the faults, colours and sizes.

Charts are Vega-Lite specifications. Colours are names of CSS variables, which the page gives a
value for light, dark and print. Texts from the run are values of data, never part of an expression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_scoring.outputs.report.charts.axis import Axis

Spec = dict[str, Any]
Row = dict[str, Any]

WIDE, NARROW = 1000, 290
"""Inner widths of the drawings that stand where scripts are off: for a screen, and for a phone."""

LEFT, RIGHT, TOP, BOTTOM = 54, 14, 12, 34
"""Margins around what is drawn: the same in all charts, so that their axes lie below each other."""

FROM, TO = "krt_from", "krt_to"
"""Parameters with the part of the axis that is shown; the page sets them to zoom."""

FONT = "system-ui, 'Liberation Sans', sans-serif"
FONT_SIZE = 11


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a chart for those who do not see it; texts, row by row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Key:
    """What a line or a bar of a chart stands for.

    Attributes:
        text: what it stands for.
        colour: a colour of the page.
        dash: dashes of a line, empty for a solid one; None for a bar.
    """

    text: str
    colour: str
    dash: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart.

    Attributes:
        name: its anchor.
        title: its heading.
        text: what it shows, with the figures that matter, in words.
        spec: the Vega-Lite specification; None where there is nothing to draw.
        table: its numbers.
        legend: what its lines and bars stand for.
    """

    name: str
    title: str
    text: str
    spec: Spec | None = None
    table: Table | None = None
    legend: tuple[Key, ...] = ()


def css(name: str) -> str:
    """Return a colour of the page."""
    return f"var(--{name})"


def time_x(field: str = "t") -> Spec:
    """Return the channel of a time."""
    return {
        "field": field,
        "type": "quantitative",
        "scale": {
            "domain": [{"expr": FROM}, {"expr": TO}],
            "nice": False,
            "zero": False,
        },
        "axis": {"title": None, "format": "~r", "labelExpr": "datum.label + ' s'", "tickCount": 8},
    }


def values(rows: Sequence[Row]) -> Spec:
    """Return rows as the data of a layer."""
    return {"values": list(rows)}


def chart(axis: Axis, layers: Sequence[Spec], faults: Sequence[Row], height: int) -> Spec:
    """Return a chart of layers above the shade of the faults.

    Args:
        axis: the axis of time.
        layers: what is drawn.
        faults: ``shades`` of the faults.
        height: of what is drawn, without the margins.
    """
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": WIDE,
        "height": height,
        "autosize": {"type": "none", "resize": False},
        "padding": {"left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM},
        "params": [
            {"name": FROM, "value": 0},
            {"name": TO, "value": axis.seconds(axis.end)},
        ],
        "config": CONFIG,
        "layer": [*_shade(faults), *layers],
    }


CONFIG: Mapping[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": css("line"), "fill": None},
    "axis": {
        "domainColor": css("dim"),
        "tickColor": css("dim"),
        "gridColor": css("line"),
        "labelColor": css("dim"),
        "titleColor": css("dim"),
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": "normal",
    },
    "text": {"color": css("fg"), "fontSize": FONT_SIZE, "font": FONT},
    "line": {"strokeWidth": 1.8},
}


STATES = {
    "start-up": "shade-startup",
    "active": "shade-active",
    "recovering": "shade-recovering",
}
"""What is shaded → its colour."""


def shades(axis: Axis, faults: Sequence[Mapping[str, Any]], steady: int | None = None) -> list[Row]:
    """Return what is shaded: the start-up, and each injected fault until it was recovered from.

    Args:
        axis: the axis of time.
        faults: of the scorecard.
        steady: when traffic was established, UTC µs; nothing before it is measured.
    """
    rows = []
    if steady is not None and steady > axis.start:
        rows.append({"t": 0.0, "t2": axis.seconds(steady), "state": "start-up", "fault": ""})
    for fault in faults:
        if "injectedAt" not in fault:
            continue
        rows += [
            {"t": since, "t2": until, "state": state, "fault": fault["name"]}
            for state, since, until in spells(axis, fault)
        ]
    return rows


def spells(axis: Axis, fault: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Yield (state, from, to) of an injected fault in seconds: active, then recovering."""
    injected = fault["injectedAt"]
    reverted = fault.get("revertedAt", injected)
    recovered = fault.get("recoveredAt", axis.end)
    for state, since, until in (
        ("active", injected, reverted),
        ("recovering", reverted, recovered),
    ):
        if until > since:
            yield state, axis.seconds(since), axis.seconds(until)


def _shade(faults: Sequence[Row]) -> list[Spec]:
    if not faults:
        return []
    span = {"x": time_x(), "x2": {"field": "t2"}}
    return [
        {
            "data": values(faults),
            "mark": {"type": "rect", "aria": False, "clip": True},
            "encoding": {
                **span,
                "fill": {
                    "field": "state",
                    "type": "nominal",
                    "scale": {
                        "domain": list(STATES),
                        "range": [css(colour) for colour in STATES.values()],
                    },
                    "legend": None,
                },
            },
        },
        {
            "data": values([row for row in faults if row["fault"]]),
            "mark": {"type": "rule", "aria": False, "strokeDash": [3, 3], "clip": True},
            "encoding": {
                "x": time_x(),
                "stroke": {"value": css("fault")},
            },
        },
    ]
