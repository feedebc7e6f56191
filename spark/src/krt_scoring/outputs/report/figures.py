"""The charts as figures of the page: drawn, and with their specification for the script."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from krt_scoring.outputs.report.charts import drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_scoring.outputs.report.charts.base import Panel

log = logging.getLogger(__name__)

NOTHING = Markup()


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart of the page.

    Attributes:
        panel: what it shows.
        wide, narrow: it as SVG, for a screen and for a phone; empty where it is not drawn.
        spec: its specification, for the script; empty where it is not drawn.
    """

    panel: Panel
    wide: Markup = NOTHING
    narrow: Markup = NOTHING
    spec: Markup = NOTHING


def figures(panels: Sequence[Panel]) -> list[Figure]:
    """Draw the charts. One that cannot be drawn has its table all the same."""
    return [_figure(panel) for panel in panels]


def _figure(panel: Panel) -> Figure:
    if panel.spec is None:
        return Figure(panel)
    try:
        wide, narrow = drawing.both(panel)
    except (ValueError, RuntimeError):
        log.exception("the chart %s could not be drawn; the report has its table", panel.name)
        return Figure(panel)
    # Texts of the run are escaped by Vega in the SVG, and by ``embedded`` in the specification.
    return Figure(panel, Markup(wide), Markup(narrow), Markup(drawing.embedded(panel.spec)))  # noqa: S704
