"""What the controller itself found wanting while it ran the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.timeline import Source
from krt_scoring.inputs.reasons import LOG_ANOMALIES, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.verdict.guards.facts import Facts

VOIDS = {"LogNotStable": LOG_ANOMALIES}
"""Guards of kind evidence, and the anomalies they void."""


def check(facts: Facts) -> Iterator[Reason]:
    """Yield a reason for each guard of the timeline, once."""
    seen: set[Reason] = set()
    for event in facts.timeline.of(Source.GUARD):
        evidence = event.detail.get("kind") == "evidence"
        message = str(event.detail.get("message") or event.event)
        reason = Reason(
            "evidence" if evidence else "coverage",
            event.event,
            event.subject or "controller",
            message,
            VOIDS.get(event.event, ()) if evidence else (),
        )
        if reason not in seen:
            seen.add(reason)
            yield reason
