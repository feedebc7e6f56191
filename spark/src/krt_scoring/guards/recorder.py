"""Times at which the recorder did not see what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring import durations
from krt_scoring.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.guards.facts import Facts


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
    for stream, start, end in gaps:
        message = f"nothing was recorded for {durations.show(end - start)} from {start}"
        yield Reason("coverage", "TimelineGap", stream or "recorder", message)
    started = any(facts.timeline.of("recorder", "started"))
    if started and not any(facts.timeline.of("recorder", "stopped")):
        message = "the recorder did not end in order, so the end of the timeline may be missing"
        yield Reason("coverage", "TimelineGap", "recorder", message)
