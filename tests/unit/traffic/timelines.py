"""Reading timelines that a test has written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

T0 = "2026-11-21T04:03:19Z"
T0_MICROS = 1_795_233_799_000_000


def recorded(folder: Path) -> list[dict[str, Any]]:
    """Return the events of all timeline streams of a folder."""
    return [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
