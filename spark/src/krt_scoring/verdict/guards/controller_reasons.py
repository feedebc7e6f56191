"""Reasons that the controller recorded while it ran the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.inputs.reasons import LOG_ANOMALIES, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.inputs.timeline import Timeline

INVALIDATES = {"LogNotStable": LOG_ANOMALIES}
"""Reason of kind evidence → the anomalies that it invalidates."""


def check(timeline: Timeline) -> Iterator[Reason]:
    """Yield each reason that the timeline holds, once."""
    seen: set[Reason] = set()
    for event in timeline.of("guard"):
        evidence = event.detail.get("kind") == "evidence"
        message = str(event.detail.get("message") or event.event)
        reason = Reason(
            "evidence" if evidence else "coverage",
            event.event,
            event.subject or "controller",
            message,
            INVALIDATES.get(event.event, ()) if evidence else (),
        )
        if reason not in seen:
            seen.add(reason)
            yield reason
