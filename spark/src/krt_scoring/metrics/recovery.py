"""Recovery: how long after a revert every ISR was complete and every group had caught up.

ISRs come from the partition states of the timeline (their own znode times), lag from the last
read that was due before they were complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_contract.plan import Plan
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.timeline import Timeline

NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class Recovery:
    """Recovery of one fault; times UTC µs, durations µs.

    Attributes:
        isr_restored_at: when the last ISR was complete again; None where an ISR never was.
        lag_cleared_at: when the last read due until then was done; None without reads.
        duration: from the revert until both; up to the run's end where not ``complete``.
    """

    fault: str
    reverted_at: int
    isr_restored_at: int | None
    lag_cleared_at: int | None
    duration: int
    complete: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the recovery as the scorecard holds it, without what is not known."""
        known = {"isrRestoredAt": self.isr_restored_at, "lagClearedAt": self.lag_cleared_at}
        return {
            "fault": self.fault,
            "revertedAt": self.reverted_at,
            "duration": self.duration,
            "complete": self.complete,
            **{key: value for key, value in known.items() if value is not None},
        }


def isr_changes(timeline: Timeline, run: Plan) -> list[tuple[int, int]]:
    """Return (time, partitions short of replicas or leaderless), one entry a change.

    The size of a complete ISR is the topic's replication factor, for internal topics the largest
    ISR ever seen.
    """
    states = list(timeline.of("partition", "state"))
    full_size: dict[str, int] = {}
    for event in states:
        size = len(event.detail.get("isr") or ())
        full_size[event.subject] = max(full_size.get(event.subject, 0), size)
    for topic in run.topics:
        for partition in range(topic.partitions):
            full_size[f"{topic.name}-{partition}"] = topic.replication_factor
    short: set[str] = set()
    changes: list[tuple[int, int]] = []
    for event in states:
        size = len(event.detail.get("isr") or ())
        leaderless = event.detail.get("leader", NO_LEADER) == NO_LEADER
        if size < full_size[event.subject] or leaderless:
            short.add(event.subject)
        else:
            short.discard(event.subject)
        if not changes or changes[-1][1] != len(short):
            changes.append((event.at, len(short)))
    return changes


def isr_restored_at(
    changes: Sequence[tuple[int, int]], window: FaultWindow, until: int
) -> int | None:
    """Return when every ISR was complete after a fault, None if an ISR was not at ``until``.

    It is the last time before ``until``: a pod that is deleted and restarted at once is reverted
    before its ISRs have even shrunk.
    """
    start = reverted(window)
    if start is None:
        return None
    seen = [(at, short) for at, short in changes if at <= until]
    if seen and seen[-1][1] > 0:
        later = [at for at, short in changes if at > until and short == 0]
        return later[0] if later and window.recovered_at is not None else None
    since = [at for at, short in seen if short == 0 and at >= start]
    return max([start, *since[-1:]])


def reverted(window: FaultWindow) -> int | None:
    """Return when a fault ended: its revert, or its injection where there is nothing to revert."""
    return window.reverted_at if window.reverted_at is not None else window.injected_at


def isr_restored_times(
    timeline: Timeline, run: Plan, windows: Sequence[FaultWindow], end: int
) -> list[int | None]:
    """Return ``isr_restored_at`` of each fault; ``end`` is the run's end, UTC µs."""
    changes = isr_changes(timeline, run)
    starts = [window.injected_at for window in windows if window.injected_at is not None]
    found: list[int | None] = []
    for window in windows:
        # A fault that overlaps the next is judged by what followed both.
        last = window.recovered_at if window.recovered_at is not None else end
        following = [at for at in starts if at > last]
        found.append(isr_restored_at(changes, window, min([last, *following])))
    return found


def recoveries(
    windows: Sequence[FaultWindow],
    isr_restored: Sequence[int | None],
    last_read: Mapping[int, int],
    end: int,
) -> list[Recovery]:
    """Return the recovery of each injected fault."""
    found = []
    for index, window in enumerate(windows):
        start = reverted(window)
        if start is None:
            continue
        restored_at, cleared_at = isr_restored[index], last_read.get(index)
        complete = restored_at is not None
        until = end if restored_at is None else max(restored_at, cleared_at or restored_at)
        duration = max(0, until - start)
        found.append(Recovery(window.name, start, restored_at, cleared_at, duration, complete))
    return found


def longest(found: Sequence[Recovery]) -> int | None:
    """Return the longest recovery in µs; None without faults."""
    return max((item.duration for item in found), default=None)
