"""The charts of a run, in the order in which they stand below each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.outputs.report.charts import cluster, outages, traffic
from krt_scoring.outputs.report.charts.axis import axis_of
from krt_scoring.outputs.report.charts.base import shades

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_scoring.inputs.timeline import Timeline
    from krt_scoring.outputs.report.charts.axis import Axis
    from krt_scoring.outputs.report.charts.base import Panel


def panels(
    card: Mapping[str, Any], series: Mapping[str, Any] | None, events: Timeline
) -> tuple[Axis | None, list[Panel]]:
    """Return the axis and the charts of a run; none where nothing says when it was.

    Args:
        card: the scorecard.
        series: the run second by second; None where it was not kept.
        events: the timeline, for the phases.
    """
    axis = axis_of(card, series, events)
    if axis is None:
        return None, []
    faults = shades(axis, card.get("faults", []), card.get("steadyFrom"))
    found = [outages.fault_panel(axis, card, events, faults)]
    measured = series is not None and series["count"] > 0
    if series is not None and measured:
        found += traffic.panels(axis, series, faults)
    outage = outages.outage_panel(axis, card, faults)
    if outage is not None:
        found.append(outage)
    if series is not None and measured:
        found += cluster.panels(axis, series, faults)
    return axis, found
