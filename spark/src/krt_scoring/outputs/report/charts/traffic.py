"""Panels of the traffic: sends, latencies and consumer lag."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from krt_contract.durations import MICROS
from krt_scoring import durations
from krt_scoring.outputs.report.charts import lines
from krt_scoring.outputs.report.charts.base import Key, Panel
from krt_scoring.outputs.report.charts.lines import Line, Style, Vertical
from krt_scoring.outputs.report.charts.tables import by_stretch
from krt_scoring.outputs.report.words import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_scoring.outputs.report.charts.axis import Axis
    from krt_scoring.outputs.report.charts.base import Row

OUTCOMES = ("acked", "failed", "unknown")

SOLID: tuple[int, ...] = ()
DASHED, DOTTED, MIXED = (7, 4), (2, 3), (8, 3, 2, 3)

STYLES: Mapping[str, Style] = {
    "acked": ("acked", SOLID),
    "failed": ("failed", DASHED),
    "unknown": ("unknown", DOTTED),
}
"""Outcome → colour and dashes."""

PERCENTILES: Mapping[str, Style] = {
    "p50": ("p50", SOLID),
    "p99": ("p99", DASHED),
    "max": ("max", DOTTED),
}
"""Column of a latency → colour and dashes."""

GROUPS: Sequence[Style] = (
    ("acked", SOLID),
    ("p99", DASHED),
    ("max", DOTTED),
    ("unknown", MIXED),
)
"""Colour and dashes of a group's line, by turns."""

MAX_GROUPS = 4
"""Groups whose latency is drawn; that of others is in the table of latencies."""


def panels(axis: Axis, series: Mapping[str, Any], faults: Sequence[Row]) -> Iterator[Panel]:
    """Yield the panels of the traffic."""
    yield sends(axis, series, faults)
    write = series["latency"].get("write")
    if write is not None:
        yield _latency(
            axis, series, faults, ("produce-latency", "Produce latency", write, "was acknowledged")
        )
    for index, item in enumerate(series["latency"]["endToEnd"][:MAX_GROUPS]):
        title = f"End-to-end latency to group {item['group']}"
        yield _latency(axis, series, faults, (f"end-to-end-{index}", title, item, "was delivered"))
    yield lag(axis, series, faults)


def sends(axis: Axis, series: Mapping[str, Any], faults: Sequence[Row]) -> Panel:
    """Return the panel of sends by outcome."""
    every, per_second = lines.steps_in_one(series), MICROS["s"]
    totals = {
        name: [
            sum(column) for column in zip(*[item[name] for item in series["sends"]], strict=True)
        ]
        or [0] * series["count"]
        for name in OUTCOMES
    }
    rates = {
        name: [value * per_second // series["step"] for value in column]
        for name, column in totals.items()
    }
    some = [name for name in OUTCOMES if any(totals[name])] or [OUTCOMES[0]]
    drawn = [
        Line(name, *STYLES[name], lines.thinned(rates[name], every, add=True)) for name in some
    ]
    spec = lines.of_lines(
        axis, lines.times(axis, series, every), drawn, faults, Vertical("sends per second")
    )
    counted = ", ".join(f"{number(sum(totals[name]))} {name}" for name in OUTCOMES)
    table = by_stretch(
        axis.seconds(series["start"]),
        series["step"] / per_second,
        {f"{name}, sends": (totals[name], sum) for name in OUTCOMES},
        number,
    )
    text = (
        f"Sends by the second in which their outcome was known: {counted}. "
        f"{_quiet(rates['acked'], axis, series)}"
    )
    legend = tuple(Key(name, *STYLES[name]) for name in some)
    return Panel("sends", "Sends per second", text, spec, table, legend)


def _quiet(rates: Sequence[int], axis: Axis, series: Mapping[str, Any]) -> str:
    """Say for how long nothing was acknowledged between the first ack and the last."""
    busy = [index for index, rate in enumerate(rates) if rate]
    if not busy:
        return "None was acknowledged."
    quiet = [(before, after) for before, after in pairwise(busy) if after > before + 1]
    most = f"At most {number(max(rates))} were acknowledged in a second"
    if not quiet:
        return f"{most}; there was no second without any."
    before, after = max(quiet, key=lambda pair: pair[1] - pair[0])
    step = series["step"] / MICROS["s"]
    offset = axis.seconds(series["start"])
    return (
        f"{most}; none at all from "
        f"{offset + (before + 1) * step:g} s to {offset + after * step:g} s."
    )


def _latency(
    axis: Axis,
    series: Mapping[str, Any],
    faults: Sequence[Row],
    what: tuple[str, str, Mapping[str, Any], str],
) -> Panel:
    """Return the panel of a latency.

    Args:
        axis: the axis of time.
        series: the series.
        faults: the shade.
        what: anchor, title, columns of the latency, and when it ended.
    """
    name, title, item, ended = what
    every = lines.steps_in_one(series)
    drawn = []
    for column, style in PERCENTILES.items():
        values = lines.thinned(item[column], every)
        millis = [None if value is None else max(value, 1) / 1000 for value in values]
        drawn.append(Line(column, *style, millis))
    spec = lines.of_lines(
        axis,
        lines.times(axis, series, every),
        drawn,
        faults,
        Vertical("ms (log scale)", log=True),
    )
    table = by_stretch(
        axis.seconds(series["start"]),
        series["step"] / MICROS["s"],
        {f"{column}, worst second": (item[column], max) for column in PERCENTILES},
        durations.show,
    )
    worst = max((value for value in item["max"] if value is not None), default=None)
    if worst is None:
        return Panel(name, title, f"No record that was due {ended}.")
    at = item["max"].index(worst)
    since = axis.seconds(series["start"] + at * series["step"])
    text = (
        f"From when a send was scheduled until the record {ended}, by the second in which it was "
        f"scheduled. The longest, {durations.show(worst)}, was scheduled at {since:g} s."
    )
    legend = tuple(Key(f"{column} of each second", *style) for column, style in PERCENTILES.items())
    return Panel(name, title, text, spec, table, legend)


def lag(axis: Axis, series: Mapping[str, Any], faults: Sequence[Row]) -> Panel:
    """Return the panel of the groups' lag."""
    title = "Consumer lag"
    if not series["lag"]:
        return Panel("lag", title, "The run has no consumer group.")
    every = lines.steps_in_one(series)
    drawn = [
        Line(item["group"], *GROUPS[index % len(GROUPS)], lines.thinned(item["records"], every))
        for index, item in enumerate(series["lag"])
    ]
    at = lines.times(axis, series, every)
    spec = lines.of_lines(axis, at, drawn, faults, Vertical("records"))
    worst = "; ".join(
        f"{item['group']} at most {number(max(item['records'], default=0))} records, "
        f"{number(item['records'][-1] if item['records'] else 0)} at the end"
        for item in series["lag"]
    )
    table = by_stretch(
        axis.seconds(series["start"]),
        series["step"] / MICROS["s"],
        {f"{item['group']}, most records": (item["records"], max) for item in series["lag"]},
        number,
    )
    legend = tuple(
        Key(item["group"], *GROUPS[index % len(GROUPS)]) for index, item in enumerate(series["lag"])
    )
    text = f"Records acknowledged and not yet delivered to the group: {worst}."
    return Panel("lag", title, text, spec, table, legend)
