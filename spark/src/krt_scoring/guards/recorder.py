"""Times at which the recorder did not see what happened.

A silence of ZooKeeper hides nothing by itself: a watch that fires late still delivers the state,
and every state carries its znode's version, which grows by one with each change. A gap counts
only where the versions seen jump across it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring import durations
from krt_scoring.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.guards.facts import Facts

ZOOKEEPER = "zookeeper"
"""The recorder's stream of ZooKeeper's znodes."""


def _jumps(facts: Facts) -> list[tuple[int, int]]:
    """Return between which times (UTC µs) the state of some partition changed unseen."""
    last: dict[str, tuple[int, int]] = {}
    jumps = []
    states = facts.timeline.of("partition", "state")
    for event in sorted(states, key=lambda e: (e.subject, int(e.detail["version"]))):
        version = int(event.detail["version"])
        seen, at = last.get(event.subject, (version - 1, event.at))
        if version > seen + 1:
            jumps.append((at, event.at))
        last[event.subject] = (version, event.at)
    return jumps


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``TimelineGap`` for each gap the recorder admits, and for an end it did not write."""
    gaps = sorted(
        {
            (
                str(event.detail.get("stream", "")),
                int(event.detail.get("from", event.at)),
                int(event.detail.get("to", event.at)),
            )
            for event in facts.timeline.of("recorder", "gap")
        }
    )
    jumps = _jumps(facts)
    for stream, start, end in gaps:
        if stream == ZOOKEEPER and not any(
            before <= end and start <= after for before, after in jumps
        ):
            continue
        message = f"nothing was recorded for {durations.show(end - start)} from {start}"
        yield Reason("coverage", "TimelineGap", stream or "recorder", message)
    started = any(facts.timeline.of("recorder", "started"))
    if started and not any(facts.timeline.of("recorder", "stopped")):
        message = "the recorder did not end in order, so the end of the timeline may be missing"
        yield Reason("coverage", "TimelineGap", "recorder", message)
