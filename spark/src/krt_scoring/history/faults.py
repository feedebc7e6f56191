"""The faults' windows, from the timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.timeline import EventName, Source

if TYPE_CHECKING:
    from krt_scoring.history.tables import History

FOREVER = (1 << 62) - 1
"""End of a window that never closed, in µs; far above any clock."""


@dataclass(frozen=True, slots=True)
class FaultWindow:
    """When a fault was open: from injected until reverted, in UTC µs."""

    name: str
    action: str
    begin: int
    end: int


def windows(history: History) -> tuple[FaultWindow, ...]:
    """Return the windows of the run's injected faults, by begin and name."""
    begun: dict[str, tuple[int, str]] = {}
    ended: dict[str, int] = {}
    for event in history.timeline:
        if event.source != Source.FAULT:
            continue
        if event.event == EventName.INJECTED:
            begun[event.subject] = (event.at, str(event.detail.get("action", "")))
        elif event.event == EventName.REVERTED:
            ended[event.subject] = event.at
    found = [
        FaultWindow(name, action, begin, ended.get(name, FOREVER))
        for name, (begin, action) in begun.items()
    ]
    return tuple(sorted(found, key=lambda window: (window.begin, window.name)))
