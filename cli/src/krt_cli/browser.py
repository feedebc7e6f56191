"""Opens a report in a browser."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console


def show_report(path: Path, console: Console) -> None:
    """Open a report in a browser, or say that there is none."""
    if not webbrowser.open(path.resolve().as_uri()):
        console.print("no browser could be started: open the file yourself", markup=False)
