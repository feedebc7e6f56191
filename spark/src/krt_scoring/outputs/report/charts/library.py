"""The script that draws charts in a browser: Vega, Vega-Lite and Vega-Embed in one text.

vl-convert bundles it by starting a JavaScript engine, which takes a second or two for the same
0.9 MB each time. So the image of the scoring keeps the bundle in a file beside this module
(``python -m krt_scoring.outputs.report.charts.library`` writes it); without that file it is bundled
when it is needed.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

import vl_convert

VEGA_LITE: Final = "6.1"
"""The version of Vega-Lite."""

SNIPPET: Final = "window.vegaEmbed = vegaEmbed;"
"""What the script defines for the page."""

KEPT: Final = Path(__file__).with_name(
    f"vega-lite-{VEGA_LITE}-vl-convert-{metadata.version('vl-convert-python')}.js"
)
"""Where the bundle is kept. Another version of what is in it has another name."""


@cache
def library() -> str:
    """Return the script."""
    try:
        return KEPT.read_text(encoding="utf-8")
    except FileNotFoundError:
        return bundle()


def bundle() -> str:
    """Return the script as vl-convert bundles it now."""
    return vl_convert.javascript_bundle(SNIPPET, VEGA_LITE)


def keep() -> None:
    """Write the script into the file from which ``library`` takes it."""
    KEPT.write_text(bundle(), encoding="utf-8")


if __name__ == "__main__":
    keep()
