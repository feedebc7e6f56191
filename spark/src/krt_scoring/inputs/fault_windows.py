"""When each fault was active, and the three parts of a run: before, during, after.

A fault is open from its injection to the time the controller saw the cluster recovered (to the end
of the run if it never did). An operation lies *before* the faults if it ended ahead of the first
injection, *during* them if one was open at any time while it was under way, else *after* them:
what was in flight when a leader died waited for its election and says nothing of the steady state.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from krt_contract.timeline import EventName, Source
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column

    from krt_contract.timeline import Event

PARTS = ("before", "during", "after")
"""The parts of a run, in order."""


@dataclass(frozen=True, slots=True)
class FaultWindow:
    """One fault as the controller's events show it; times in UTC µs.

    Attributes:
        duration: how long the fault was to be active, µs.
        skipped: the fault was not injected.
        verified: whether the controller saw its effect; None where no event says so.
    """

    name: str
    action: str = ""
    duration: int = 0
    targets: tuple[Mapping[str, Any], ...] = ()
    injected_at: int | None = None
    reverted_at: int | None = None
    recovered_at: int | None = None
    skipped: bool = False
    verified: bool | None = None
    observations: tuple[Mapping[str, Any], ...] = field(default=())

    @property
    def injected(self) -> bool:
        """Whether the fault was injected."""
        return self.injected_at is not None

    @property
    def times(self) -> dict[str, int]:
        """When it was injected, reverted and recovered from, as results name it; if known."""
        times = {
            "injectedAt": self.injected_at,
            "revertedAt": self.reverted_at,
            "recoveredAt": self.recovered_at,
        }
        return {name: at for name, at in times.items() if at is not None}

    @property
    def begin(self) -> int:
        """When it was injected; FOREVER where it was not."""
        return FOREVER if self.injected_at is None else self.injected_at

    @property
    def end(self) -> int:
        """When it was reverted; FOREVER where it was not."""
        return FOREVER if self.reverted_at is None else self.reverted_at

    @property
    def target_uids(self) -> set[str]:
        """Uids of the pods it acted on."""
        return {str(target.get("uid")) for target in self.targets}

    @property
    def members(self) -> set[str]:
        """Members it acted on, like ``kafka-0``."""
        return {str(target.get("member")) for target in self.targets if target.get("member")}

    def meets(self, begin: int, end: int) -> bool:
        """Whether the fault was open at some time from ``begin`` to ``end``."""
        if self.injected_at is None or end < self.injected_at:
            return False
        return self.recovered_at is None or begin <= self.recovered_at


def fault_windows(events: Iterable[Event]) -> tuple[FaultWindow, ...]:
    """Return the faults of a run's events in order of injection, those never injected last."""
    found: dict[str, FaultWindow] = {}
    for event in events:
        if event.source != Source.FAULT:
            continue
        window = found.setdefault(event.subject, FaultWindow(event.subject))
        detail = event.detail
        changes: dict[str, Any] = {}
        if detail.get("action"):
            changes["action"] = str(detail["action"])
        if detail.get("targets"):
            changes["targets"] = tuple(detail["targets"])
        if detail.get("duration"):
            changes["duration"] = int(detail["duration"])
        if event.event == EventName.OBSERVED:
            changes["verified"] = bool(detail.get("verified"))
            changes["observations"] = tuple(detail.get("observations") or ())
        elif event.event == EventName.SKIPPED:
            changes["skipped"] = True
        elif event.event in (EventName.INJECTED, EventName.REVERTED, EventName.RECOVERED):
            changes[f"{event.event}_at"] = event.at
        found[event.subject] = replace(window, **changes)
    return tuple(sorted(found.values(), key=lambda window: (window.begin, window.name)))


def part_of(due: int, ended: int, windows: Sequence[FaultWindow]) -> str:
    """Return the part of the run an operation lies in, from when it was due to its end."""
    injected = [window.injected_at for window in windows if window.injected_at is not None]
    if not injected or ended < min(injected):
        return "before"
    return "during" if any(window.meets(due, ended) for window in windows) else "after"


def during_column(due: Column, ended: Column, windows: Sequence[FaultWindow]) -> Column:
    """Whether any fault was open at some time from ``due`` to ``ended``, for Spark."""
    during = sf.lit(col=False)
    for window in windows:
        if window.injected_at is None:
            continue
        meets = ended >= window.injected_at
        if window.recovered_at is not None:
            meets &= due <= window.recovered_at
        during |= meets
    return during


def part_column(due: Column, ended: Column, windows: Sequence[FaultWindow]) -> Column:
    """Return ``part_of`` as a Spark expression: the part's index in ``PARTS``."""
    injected = [window.injected_at for window in windows if window.injected_at is not None]
    if not injected:
        return sf.lit(0)
    during = during_column(due, ended, windows)
    return sf.when(ended < min(injected), 0).when(during, 1).otherwise(2)
