"""Reasons that the controller recorded while it ran the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.timeline import Source
from krt_scoring.inputs.evidence import LOG
from krt_scoring.inputs.reasons import LOG_ANOMALIES, Reason
from krt_scoring.inputs.scope import EVERYTHING, Scope
from krt_scoring.verdict.guards.log_stability import unstable_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krt_scoring.inputs.recording import LogEnd
    from krt_scoring.inputs.timeline import Timeline

INVALIDATES = {"LogNotStable": LOG_ANOMALIES}
"""Reason of kind evidence → the anomalies that it invalidates."""


def check(timeline: Timeline, log_ends: Sequence[LogEnd]) -> Iterator[Reason]:
    """Yield each reason that the timeline holds, once.

    The controller does not name the partitions whose log did not settle; their rows of
    ``log_end_offsets`` do.
    """
    seen: set[Reason] = set()
    unstable = unstable_partitions(log_ends)
    for event in timeline.of(Source.GUARD):
        evidence = event.detail.get("kind") == "evidence"
        message = str(event.detail.get("message") or event.event)
        invalidates = INVALIDATES.get(event.event, ()) if evidence else ()
        reason = Reason(
            "evidence" if evidence else "coverage",
            event.event,
            event.subject or "controller",
            message,
            invalidates,
            Scope(tables=(LOG,), partitions=unstable) if invalidates and unstable else EVERYTHING,
        )
        if reason not in seen:
            seen.add(reason)
            yield reason
