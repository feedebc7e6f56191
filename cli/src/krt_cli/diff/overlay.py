"""Charts of several runs on each other, from when the first fault of each was injected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import vl_convert

from krt_contract.durations import MICROS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_cli.diff.results import Result

VERSION = "6.1"
"""Of Vega-Lite."""

COLOURS = ("#0b5cab", "#b42525", "#1a7f4b", "#8f5300", "#6a4fb5", "#00666b")
DASHES: Sequence[Sequence[int]] = ((), (7, 4), (2, 3), (8, 3, 2, 3), (12, 4), (4, 2))
"""Of the runs, in order; a seventh has those of the first."""

Points = list[tuple[float, float | None]]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of several runs.

    Attributes:
        title: what it shows.
        unit: of its values.
        lines: name of a run → (seconds since its first fault, value).
        log: whether its scale is logarithmic.
    """

    title: str
    unit: str
    lines: Mapping[str, Points]
    log: bool = False

    def svg(self) -> str:
        """Return it drawn."""
        return vl_convert.vegalite_to_svg(self.spec(), vl_version=VERSION)

    def spec(self) -> dict[str, Any]:
        """Return it as a Vega-Lite specification."""
        names = list(self.lines)
        rows = [
            {"t": at, "value": value, "run": name}
            for name, points in self.lines.items()
            for at, value in points
        ]
        legend = {"title": None, "orient": "top", "labelLimit": 400, "symbolType": "stroke"}
        channel = {"field": "run", "type": "nominal", "legend": legend}
        colours = [COLOURS[index % len(COLOURS)] for index in range(len(names))]
        dashes = [list(DASHES[index % len(DASHES)]) for index in range(len(names))]
        line = {
            "data": {"values": rows},
            "mark": {"type": "line", "strokeWidth": 1.8},
            "encoding": {
                "x": {
                    "field": "t",
                    "type": "quantitative",
                    "title": "seconds since the first fault",
                },
                "y": {
                    "field": "value",
                    "type": "quantitative",
                    "title": self.unit,
                    "scale": {"type": "log"} if self.log else {"zero": True},
                },
                "color": {**channel, "scale": {"domain": names, "range": colours}},
                "strokeDash": {**channel, "scale": {"domain": names, "range": dashes}},
            },
        }
        begin = {"data": {"values": [{"t": 0}]}, "mark": {"type": "rule", "strokeDash": [3, 3]}}
        begin["encoding"] = {"x": {"field": "t", "type": "quantitative"}}
        config = {"font": "system-ui, 'Liberation Sans', sans-serif", "background": "white"}
        return {"width": 900, "height": 160, "config": config, "layer": [line, begin]}


def charts(results: Sequence[Result]) -> Iterator[Chart]:
    """Yield the charts of the runs whose series was kept."""
    known = [(item.name, item.series) for item in results if item.series is not None]
    if not known:
        return
    yield Chart("Acknowledged sends", "per second", {n: _acked(s) for n, s in known})
    for kind, title in (("write", "Produce latency, p99"), ("endToEnd", "End-to-end latency, p99")):
        lines = {name: _latency(series, kind) for name, series in known}
        if any(value for points in lines.values() for _, value in points):
            yield Chart(title, "ms (log scale)", lines, log=True)
    lines = {name: _lag(series) for name, series in known}
    yield Chart("Consumer lag of all groups", "records", lines)


def _times(series: Mapping[str, Any]) -> list[float]:
    """Return the middle of each step, in seconds since the first fault; else since the start."""
    injected = [fault["injectedAt"] for fault in series["faults"]]
    zero = min(injected, default=series["start"])
    step = series["step"]
    first = series["start"] + step // 2 - zero
    return [round((first + step * index) / MICROS["s"], 3) for index in range(series["count"])]


def _acked(series: Mapping[str, Any]) -> Points:
    columns = [item["acked"] for item in series["sends"]]
    rates = [sum(values) * MICROS["s"] // series["step"] for values in zip(*columns, strict=True)]
    return list(zip(_times(series), rates, strict=False))


def _latency(series: Mapping[str, Any], kind: str) -> Points:
    """Return the p99 of each step in ms, the worst of all groups."""
    found = series["latency"].get(kind)
    columns = [item["p99"] for item in ([found] if kind == "write" else found) if item]
    worst = [
        max((value for value in values if value), default=None)
        for values in zip(*columns, strict=True)
    ]
    millis = [None if value is None else value / MICROS["ms"] for value in worst]
    return list(zip(_times(series), millis, strict=False))


def _lag(series: Mapping[str, Any]) -> Points:
    columns = [item["records"] for item in series["lag"]]
    totals = [sum(values) for values in zip(*columns, strict=True)]
    return list(zip(_times(series), totals, strict=False))
