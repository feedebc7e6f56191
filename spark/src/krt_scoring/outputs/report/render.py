"""Fills the report's template from a scorecard, its series, the plan and the timeline."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from krt_scoring import durations
from krt_scoring.outputs import objective_values
from krt_scoring.outputs.report import findings, head, ledger, score, tested, words
from krt_scoring.outputs.report.charts.library import library
from krt_scoring.outputs.report.charts.outages import parts_of_longest
from krt_scoring.outputs.report.charts.panels import panels
from krt_scoring.outputs.report.figures import figures
from krt_scoring.outputs.unchecked import WHY_UNCHECKED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.plan import Plan
    from krt_scoring.inputs.timeline import Timeline

FILTERS = {
    "duration": durations.show,
    "longest": words.longest,
    "parts": parts_of_longest,
    "recovery": words.recovery,
    "clock": words.clock,
    "number": words.number,
    "value": partial(objective_values.show, number=words.number),
    "cell": words.cell,
    "breakable": words.breakable,
}


def render(
    card: Mapping[str, Any],
    events: Timeline,
    series: Mapping[str, Any] | None = None,
    run: Plan | None = None,
) -> str:
    """Return the report as one HTML document that loads nothing.

    Args:
        card: the scorecard.
        events: the timeline.
        series: the run second by second; None where it was not kept.
        run: the plan; None where it could not be used, or was not kept.
    """
    loader = jinja2.PackageLoader("krt_scoring.outputs.report", "templates")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals["explain"] = score.explain
    environment.globals["why_unchecked"] = WHY_UNCHECKED
    unchecked = card.get("uncheckedAnomalies", [])
    axis, found = panels(card, series, events)
    drawn = figures(found)
    # Without a series there is little to zoom into, and the script is most of a report's size.
    interactive = series is not None and any(figure.spec for figure in drawn)
    return environment.get_template("report.html.j2").render(
        card=card,
        sentence=head.sentence(card),
        tiles=head.tiles(card),
        tested=tested.tested(card, run, events),
        flow=ledger.flow(card.get("ledger", {})),
        found=findings.found(card, series),
        quiet=[
            name
            for name, item in card.get("anomalies", {}).items()
            if not item["count"] and name not in unchecked
        ],
        unchecked=unchecked,
        axis=axis,
        figures=drawn,
        zooms=_zooms(card, axis),
        has_series=series is not None and series["count"] > 0,
        library=Markup(library()) if interactive else "",  # noqa: S704 (the library's own)
    )


def _zooms(card: Mapping[str, Any], axis: Any) -> list[tuple[str, float, float]]:
    """Return (name, from, to) of each fault, with some time around it, in seconds of the axis."""
    if axis is None:
        return []
    found = []
    for fault in card.get("faults", []):
        if "injectedAt" in fault:
            since = axis.seconds(fault["injectedAt"])
            until = axis.seconds(fault.get("recoveredAt", fault.get("revertedAt", axis.end)))
            around = max(1.0, (until - since) / 6)
            end = min(axis.seconds(axis.end), until + around)
            found.append((fault["name"], round(max(0.0, since - around), 2), round(end, 2)))
    return found
