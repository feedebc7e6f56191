"""Draws charts as SVG: vl-convert holds Vega, Vega-Lite and the engine that runs them."""

from __future__ import annotations

import copy
import json
import re
from typing import TYPE_CHECKING

import vl_convert

from krt_scoring.outputs.report.charts.base import NARROW, WIDE
from krt_scoring.outputs.report.charts.library import VEGA_LITE

if TYPE_CHECKING:
    from krt_scoring.outputs.report.charts.base import Panel, Spec

_ID = re.compile(r'(id="|url\(#)(\w+)')


def svg(panel: Panel, width: int) -> str:
    """Return a panel's chart as an SVG element.

    Args:
        panel: with a specification.
        width: of what is drawn, without the margins.
    """
    spec = copy.copy(panel.spec or {})
    spec["width"] = width
    text = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    # Ids are unique in a file; several of them stand in one page.
    named = _ID.sub(rf"\g<1>{panel.name}-{width}-\g<2>", text)
    return named.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)


def both(panel: Panel) -> tuple[str, str]:
    """Return a panel's chart for a wide page and for a narrow one."""
    return svg(panel, WIDE), svg(panel, NARROW)


def embedded(spec: Spec) -> str:
    """Return a specification as JSON that can stand in a script element."""
    return as_script(json.dumps(spec, separators=(",", ":"), ensure_ascii=False))


def as_script(text: str) -> str:
    """Return JSON that a script element can hold: nothing in it can end the element."""
    return text.replace("<", "\\u003c")
