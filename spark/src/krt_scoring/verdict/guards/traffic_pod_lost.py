"""A traffic pod that is gone without a report of how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.timeline import EventName, Source
from krt_scoring.inputs.reasons import Reason
from krt_scoring.verdict.guards.explained_exits import TRAFFIC, explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.inputs.recording import Recording


def check(recording: Recording) -> Iterator[Reason]:
    """Yield ``TrafficPodLost`` for pods deleted or ended without a message, by no fault."""
    known = explained(recording)
    reported: set[str] = set()
    gone: dict[str, str] = {}
    for event in recording.timeline.of(Source.POD, EventName.EXITED, EventName.DELETED):
        uid = str(event.detail.get("uid"))
        if event.detail.get("component") not in TRAFFIC or uid in known:
            continue
        if event.detail.get("message") or event.detail.get("exitCode") == 0:
            reported.add(uid)
        gone[uid] = event.subject
    for uid, pod in sorted(gone.items(), key=lambda item: (item[1], item[0])):
        if uid not in reported:
            message = (
                f"pod {uid} ended without a termination message, and no fault targeted it. See the "
                "pod's events; it may have been evicted"
            )
            yield Reason("coverage", "TrafficPodLost", pod, message)
