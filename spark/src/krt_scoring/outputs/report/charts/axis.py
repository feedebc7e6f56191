"""The axis that all charts of a run share: seconds since its first moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_contract.durations import MICROS
from krt_contract.timeline import EventName, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.inputs.timeline import Timeline

MARGIN = 60
"""Part of the axis that is left free at its end: one in so many."""


@dataclass(frozen=True, slots=True)
class Axis:
    """From when to when a run is drawn; UTC µs."""

    start: int
    end: int

    @property
    def length(self) -> float:
        """Seconds."""
        return (self.end - self.start) / MICROS["s"]

    def seconds(self, at: int) -> float:
        """Return a time as seconds on the axis, to the millisecond."""
        return round((at - self.start) / MICROS["s"], 3)

    def inside(self, at: int) -> bool:
        """Return whether a time is on the axis."""
        return self.start <= at <= self.end


def axis_of(
    card: Mapping[str, Any], series: Mapping[str, Any] | None, events: Timeline
) -> Axis | None:
    """Return the axis of a run; None where nothing says when it was.

    It covers the traffic and the faults. What went before, the creation of the cluster, is left
    out.
    """
    times = [*_of_traffic(card, series), *_of_faults(card)]
    if not times:
        times = [event.at for event in events.of(Source.PHASE, EventName.ENTERED)]
    if not times or min(times) == max(times):
        return None
    return Axis(min(times), max(times) + (max(times) - min(times)) // MARGIN)


def _of_traffic(card: Mapping[str, Any], series: Mapping[str, Any] | None) -> Iterator[int]:
    if series is not None and series["count"]:
        yield series["start"]
        yield series["start"] + series["count"] * series["step"]
    if "steadyFrom" in card:
        yield card["steadyFrom"]
    for row in card.get("availability", []):
        for gap in row.get("gaps", []):
            yield gap["from"]
            yield gap["to"]


def _of_faults(card: Mapping[str, Any]) -> Iterator[int]:
    for fault in card.get("faults", []):
        for key in ("injectedAt", "revertedAt", "recoveredAt"):
            if key in fault:
                yield fault[key]
