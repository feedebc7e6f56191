"""How the report writes times, numbers and what was measured."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from krt_scoring import durations

if TYPE_CHECKING:
    from collections.abc import Mapping

EPOCH_MICROS = 1_000_000_000_000_000
"""Times are µs since 1970; no count or offset of a run comes near this."""


def clock(at: int) -> str:
    """Return a time of day in UTC to the millisecond."""
    moment = datetime.fromtimestamp(at // 1_000_000, UTC)
    return f"{moment:%H:%M:%S}.{at % 1_000_000 // 1000:03d}"


def date(at: int) -> str:
    """Return date and time in UTC to the second, with the zone."""
    return f"{datetime.fromtimestamp(at // 1_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def number(count: int) -> str:
    """Return an integer with narrow spaces, which no line breaks at, between thousands."""
    return f"{count:,}".replace(",", "\u202f")


def breakable(name: str) -> Markup:
    """Return a name in camel case as HTML that a narrow column may break before its capitals."""
    return Markup("<wbr>").join(re.split(r"(?<=[a-z])(?=[A-Z])", name))


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def cell(value: Any, column: str) -> str:
    """Return an example's value; a time as a time of day, a list in one line."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, int) and value >= EPOCH_MICROS and column.lower().endswith("at"):
        return clock(value)
    return str(value)


def longest(row: Mapping[str, Any]) -> str:
    """Return the longest gap of a row of ``availability``, or how long one could be unseen."""
    seen = row["max"] if row["count"] else None
    if seen is None and "detectionLimit" not in row:
        return "none seen"
    return durations.show_longest(seen, row.get("detectionLimit"))


def recovery(item: Mapping[str, Any]) -> str:
    """Return the recovery from a fault in a sentence."""
    if not item.get("affected", True):
        return "No effect seen: no ISR was incomplete, and no gap reached the detection limit."
    if not item["complete"]:
        return f"Not recovered {durations.show(item['duration'])} after the revert."
    if item["duration"]:
        return f"Recovered {durations.show(item['duration'])} after the revert."
    return "Recovered before the revert."
