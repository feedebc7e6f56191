"""What a gap is made of: detect, elect, client.

*detect* runs from the fault to the loss of the member's ZooKeeper session (``/brokers/ids/N``
gone), *elect* from there to the partition's next leader epoch, *client* from there to the first
success. A part that the timeline does not show, or that lies outside the gap's fault, is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_scoring.availability.gaps import Gap
    from krt_scoring.timeline import Timeline
    from krt_scoring.windows import FaultWindow

MEMBER_PREFIX = "kafka-"


def fault_of(gap: Gap, windows: Sequence[FaultWindow]) -> FaultWindow | None:
    """Return the fault to name for a gap: the latest open when it began, else the first in it."""
    held = [
        window
        for window in windows
        if window.injected_at is not None
        and window.injected_at < gap.end
        and (window.recovered_at is None or window.recovered_at >= gap.start)
    ]
    before = [window for window in held if (window.injected_at or 0) <= gap.start]
    if before:
        return before[-1]
    return held[0] if held else None


def parts(gap: Gap, window: FaultWindow, timeline: Timeline) -> dict[str, int]:
    """Return part → duration in µs; what was over before the gap began is no part of it."""
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
        found["client"] = max(0, gap.end - max(mark, gap.start))
    return found


def _session_lost(window: FaultWindow, timeline: Timeline, start: int, end: int) -> int | None:
    ids = {member.removeprefix(MEMBER_PREFIX) for member in window.members}
    for event in timeline.of("broker", "unregistered"):
        if event.subject in ids and start <= event.at <= end:
            return event.at
    return None


def _elected(gap: Gap, timeline: Timeline, start: int) -> int | None:
    epoch: int | None = None
    for event in timeline.of("partition", "state"):
        if event.subject != f"{gap.topic}-{gap.partition}":
            continue
        current = int(event.detail.get("leader_epoch", -1))
        led = event.detail.get("leader", -1) != -1
        newer = epoch is not None and current > epoch
        if start <= event.at <= gap.end and newer and led:
            return event.at
        epoch = current if epoch is None else max(epoch, current)
    return None
