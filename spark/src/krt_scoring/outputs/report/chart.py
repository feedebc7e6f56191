"""The picture of a run: one axis of time, faults and phases above, gaps of each partition below.

All positions are integers of a fixed drawing width, so the same run draws the same picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_contract.durations import MICROS
from krt_contract.timeline import EventName, Source
from krt_scoring import durations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krt_scoring.inputs.timeline import Timeline

WIDTH = 860
"""Drawing units of the axis."""

TICKS = 8
"""At most so many labelled times."""

STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)
"""Seconds a tick may stand for."""


PARTS = ("detect", "elect", "rebalance", "client")
"""Parts of a gap in the order in which they pass."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps UTC µs to drawing units."""

    start: int
    end: int

    def x(self, at: int) -> int:
        """Return the position of a time, kept on the axis."""
        inside = min(max(at, self.start), self.end)
        return (inside - self.start) * WIDTH // max(1, self.end - self.start)

    def width(self, start: int, end: int) -> int:
        """Return the length of an interval, at least wide enough to be seen."""
        return max(2, self.x(end) - self.x(start))

    def ticks(self) -> list[tuple[int, str]]:
        """Return (position, label) of round seconds since the start."""
        length = max(1, (self.end - self.start) // MICROS["s"])
        step = next((s for s in STEPS_S if length // s <= TICKS), length)
        marks = range(0, length + 1, max(1, step))
        return [(self.x(self.start + s * MICROS["s"]), f"{s} s") for s in marks]


def scale(card: Mapping[str, Any], events: Timeline) -> Scale | None:
    """Return the axis of a run: from its first phase or fault to its last; None without times."""
    times = [event.at for event in events.of(Source.PHASE)]
    for fault in card.get("faults", []):
        times += [fault[key] for key in ("injectedAt", "revertedAt", "recoveredAt") if key in fault]
    for row in card.get("availability", []):
        times += [gap[key] for gap in row.get("gaps", []) for key in ("from", "to")]
    if not times:
        times = [event.at for event in events.events]
    if not times or min(times) == max(times):
        return None
    margin = (max(times) - min(times)) // 40
    return Scale(min(times) - margin, max(times) + margin)


def phases(axis: Scale, events: Timeline) -> list[dict[str, Any]]:
    """Return the phases as bars with names and durations."""
    entered = sorted(
        (event.at, event.subject) for event in events.of(Source.PHASE, EventName.ENTERED)
    )
    ends = [*(at for at, _ in entered[1:]), axis.end][: len(entered)]
    return [
        {
            "name": name,
            "x": axis.x(at),
            "width": axis.width(at, end),
            "duration": durations.show(end - at) if end != axis.end else "",
        }
        for (at, name), end in zip(entered, ends, strict=True)
    ]


def faults(axis: Scale, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each injected fault as a bar: injected to reverted, and on to recovered."""
    bars = []
    for row in rows:
        if "injectedAt" not in row:
            continue
        reverted = row.get("revertedAt", row["injectedAt"])
        recovered = row.get("recoveredAt", axis.end)
        bars.append(
            {
                "name": row["name"],
                "x": axis.x(row["injectedAt"]),
                "active": axis.width(row["injectedAt"], reverted),
                "recover_x": axis.x(reverted),
                "recover": axis.width(reverted, recovered),
            }
        )
    return bars


def lanes(axis: Scale, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a lane for each partition, direction and group, with its gaps."""
    found = []
    for row in rows:
        group = f" by {row['group']}" if row.get("group") else ""
        found.append(
            {
                "name": f"{row['topic']}-{row['partition']} {row['direction']}{group}",
                "measured": row["measured"],
                "max": durations.show(row["max"]) if row.get("max") else "",
                "limit": _limit(axis, row),
                "gaps": [
                    {
                        "x": axis.x(gap["from"]),
                        "width": axis.width(gap["from"], gap["to"]),
                        "title": _title(gap),
                    }
                    for gap in row.get("gaps", [])
                ],
            }
        )
    return found


def _title(gap: Mapping[str, Any]) -> str:
    text = durations.show(gap["duration"])
    if "fault" in gap:
        text += f" during {gap['fault']}"
    parts = gap.get("breakdown") or {}
    shown = [f"{name} {durations.show(parts[name])}" for name in PARTS if name in parts]
    return f"{text}: {', '.join(shown)}" if shown else text


def _limit(axis: Scale, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the detection limit to scale, with its text; None where it is not known."""
    limit = row.get("detectionLimit")
    if limit is None:
        return None
    return {
        "width": axis.width(axis.start, axis.start + limit),
        "title": f"detection limit: gaps shorter than {durations.show(limit)} cannot be seen",
        "none": "" if row["count"] else f"none > {durations.show(limit)}",
    }


def traffic(axis: Scale, events: Timeline, steady: int | None) -> tuple[int, int]:
    """Return when gaps were measured, as position and width: from the steady state to Draining.

    Args:
        axis: the axis.
        events: the timeline.
        steady: when traffic was established, UTC µs; None in a scorecard that does not say so.
    """
    entered = {event.subject: event.at for event in events.of(Source.PHASE, EventName.ENTERED)}
    begin = entered.get("Warmup", axis.start) if steady is None else steady
    end = entered.get("Draining", axis.end)
    return axis.x(begin), axis.width(begin, end)
