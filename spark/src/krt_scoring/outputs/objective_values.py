"""Values and limits of objectives, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from krt_scoring import durations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


UNAVAILABILITY = ("maxReadUnavailability", "maxWriteUnavailability")
"""Objectives of which a scorecard of an early build holds 0 where nothing was seen."""


def show(
    item: Mapping[str, Any], key: Literal["value", "limit"], number: Callable[[int], str] = str
) -> str:
    """Return an objective's value or limit in its unit; never 0 for what was not seen.

    What was not over when the run ended is at least so long.

    Args:
        item: the objective as the scorecard holds it.
        key: what of it to show.
        number: how a count is written.
    """
    if key == "value" and "detectionLimit" in item:
        return durations.show_longest(item.get("value"), item["detectionLimit"])
    if key == "value" and item["name"] in UNAVAILABILITY and item.get("value") == 0:
        return "none seen (detection limit not recorded)"
    known = "value" in item or not item.get("affected", True)
    if key == "value" and item["name"] == "maxRecovery" and known:
        shown = durations.show_recovery(item.get("value"))
        return f"at least {shown}" if item.get("atLeast") else shown
    if key not in item:
        return "not measured"
    if item["unit"] == "us":
        return durations.show(item[key])
    return f"{number(item[key])} {item['unit']}"
