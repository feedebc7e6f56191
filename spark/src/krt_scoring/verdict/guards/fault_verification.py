"""A fault counts only where its effect was observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.faults import ObservationKind, implied_by
from krt_contract.timeline import EventName, Source
from krt_scoring.inputs.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.recording import Recording
    from krt_scoring.inputs.timeline import Timeline

KILLED = 137
"""Exit code of a process that ended by SIGKILL (128 + 9)."""


def check(recording: Recording) -> Iterator[Reason]:
    """Yield ``FaultNotVerified`` for unverified faults, ``FaultSkipped`` for those not injected."""
    for window in recording.faults:
        if window.skipped or window.injected_at is None:
            message = (
                "the fault was not injected, so the run does not test it; the test's events say why"
            )
            yield Reason("coverage", "FaultSkipped", window.name, message)
        elif not verified(window, recording.timeline):
            message = (
                f"{window.action or 'the fault'} was injected, but its effect was not observed on "
                "every target; see the fault's observations in the scorecard"
            )
            yield Reason("coverage", "FaultNotVerified", window.name, message)
    seen = {window.name for window in recording.faults}
    for fault in recording.run.faults:
        if fault.name not in seen:
            message = (
                "the plan has this fault, but the timeline does not show that it was injected; the "
                "test's events say why"
            )
            yield Reason("coverage", "FaultSkipped", fault.name, message)


def verified(window: FaultWindow, timeline: Timeline) -> bool:
    """Whether the controller observed the effect, or the timeline shows it."""
    if window.verified:
        return True
    kinds = implied_by(window.action)
    return bool(window.target_uids) and all(
        any(_seen(kind, uid, window.injected_at, timeline) for kind in kinds)
        for uid in window.target_uids
    )


def _seen(kind: ObservationKind, uid: str, start: int | None, timeline: Timeline) -> bool:
    """Whether the timeline itself shows this of a pod since the fault."""
    if start is None:
        return False
    match kind:
        case ObservationKind.POD_DELETED:
            events = timeline.of(Source.POD, EventName.DELETED)
            return any(event.at >= start and event.detail.get("uid") == uid for event in events)
        case ObservationKind.PROCESS_KILLED:
            return any(
                event.detail.get("uid") == uid
                and (event.event == EventName.KILLED or event.detail.get("exitCode") == KILLED)
                for event in timeline.of(Source.MEMBER, EventName.KILLED, EventName.EXITED)
            )
        case ObservationKind.PROCESS_STOPPED:
            # The freezing container uses the same clock as the fault's injectedAt.
            events = timeline.of(Source.MEMBER, EventName.FROZEN)
            return any(event.at >= start and event.detail.get("uid") == uid for event in events)
        case _:
            return False
