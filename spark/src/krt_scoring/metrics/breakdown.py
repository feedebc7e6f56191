"""Breaks a gap down into detect, elect, rebalance and client.

*detect* runs from the fault to the loss of the member's ZooKeeper session (``/brokers/ids/N``
gone), or until a KRaft controller fenced it, *elect* from there to the partition's next leader
epoch, *rebalance*, of readers, from there to the last assignment of the partition in the group
before reading went on, *client* from there to the first success. A part that timeline and ledgers
do not show, or that lies outside the gap's fault, is left out. ZooKeeper does not report when a
session ended, so the time is the recorder's: where the recorder was late at that time, *detect* is
left out and *elect* runs from the fault.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from krt_contract.members import member_of
from krt_contract.metadata_log.fold import is_folded
from krt_contract.timeline import EventName, Source
from krt_scoring.metrics.gaps import LEAST_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krt_scoring.history.history import History
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.timeline import Timeline
    from krt_scoring.metrics.gaps import Gap


@dataclass(frozen=True, slots=True)
class GapContext:
    """What happened around the gaps.

    Attributes:
        windows: the faults.
        timeline: the run's events.
        assigned: (group, topic, partition) → when it was assigned to a member, UTC µs.
    """

    windows: Sequence[FaultWindow]
    timeline: Timeline
    assigned: Mapping[tuple[str, str, int], Sequence[int]] = field(default_factory=dict)

    def explain(self, gap: Gap) -> tuple[str, dict[str, int]] | None:
        """Return the fault that a gap is attributed to and its breakdown, None for no fault."""
        window = fault_of(gap, self.windows)
        if window is None:
            return None
        assigned = self.assigned.get((gap.group, gap.topic, gap.partition), ())
        return window.name, break_down(gap, window, self.timeline, assigned)


def fault_of(gap: Gap, windows: Sequence[FaultWindow]) -> FaultWindow | None:
    """Return the fault to name for a gap: the latest open when it began, else the first in it.

    A gap begins with the last success, a moment before the fault that ended all success: a fault
    injected less than the least gap later was open when it began.
    """
    began = gap.start + LEAST_LIMIT
    open_windows = [
        window
        for window in windows
        if window.injected_at is not None
        and window.injected_at < gap.end
        and (window.recovered_at is None or window.recovered_at >= gap.start)
    ]
    before = [window for window in open_windows if (window.injected_at or 0) <= began]
    if before:
        return before[-1]
    return open_windows[0] if open_windows else None


def served_again(gaps: Iterable[Gap], windows: Sequence[FaultWindow]) -> dict[int, int]:
    """Return index of the fault → when the last gap that it is named for ended, UTC µs."""
    found: dict[int, int] = {}
    for gap in gaps:
        window = fault_of(gap, windows)
        if window is not None:
            index = windows.index(window)
            found[index] = max(found.get(index, 0), gap.end)
    return found


def assignments(history: History) -> dict[tuple[str, str, int], list[int]]:
    """Return (group, topic, partition) → when it was assigned to a member, UTC µs."""
    found: dict[tuple[str, str, int], list[int]] = {}
    for item in history.ownership.intervals:
        key = (history.facts.groups[item.group].name, *history.facts.positions.name(item.tp))
        found.setdefault(key, []).append(item.begin)
    return found


def break_down(
    gap: Gap, window: FaultWindow, timeline: Timeline, assigned: Iterable[int] = ()
) -> dict[str, int]:
    """Return part → duration in µs; what was over before the gap began is no part of it.

    Args:
        gap: what is broken down.
        window: the fault it is attributed to.
        timeline: the run's events.
        assigned: when the partition was assigned in the reading group, UTC µs.
    """
    injected = window.injected_at
    if injected is None:
        return {}
    found: dict[str, int] = {}
    mark = injected
    gone = _session_lost(window, timeline, injected, gap.end)
    if gone is not None:
        mark = gone
        if gone >= gap.start:
            found["detect"] = gone - injected
    elected = _elected(gap, timeline, injected)
    if elected is not None:
        if elected >= gap.start:
            found["elect"] = max(0, elected - mark)
        mark = max(mark, elected)
    taken = max((at for at in assigned if max(injected, gap.start) <= at <= gap.end), default=None)
    if taken is not None and taken > mark:
        found["rebalance"] = taken - mark
        mark = taken
    if elected is not None or taken is not None:
        found["client"] = max(0, gap.end - max(mark, gap.start))
    return found


def _session_lost(window: FaultWindow, timeline: Timeline, start: int, end: int) -> int | None:
    for event in timeline.of(Source.BROKER, EventName.UNREGISTERED, EventName.FENCED):
        if member_of(event.subject) in window.members and start <= event.at <= end:
            # The time of a record is the controller's, however late it was read.
            late = not is_folded(event) and timeline.late(event.at)
            return None if late else event.at
    return None


def _elected(gap: Gap, timeline: Timeline, start: int) -> int | None:
    epoch: int | None = None
    for event in timeline.of(Source.PARTITION, EventName.STATE):
        if event.subject != f"{gap.topic}-{gap.partition}":
            continue
        current = int(event.detail.get("leader_epoch", -1))
        led = event.detail.get("leader", -1) != -1
        newer = epoch is not None and current > epoch
        if start <= event.at <= gap.end and newer and led:
            return event.at
        epoch = current if epoch is None else max(epoch, current)
    return None
