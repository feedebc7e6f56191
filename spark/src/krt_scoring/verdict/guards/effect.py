"""A fault counts only with proof of its effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.faults import ObservationKind, implied_by
from krt_contract.timeline import EventName, Source
from krt_scoring.inputs.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.timeline import Timeline
    from krt_scoring.verdict.guards.facts import Facts

KILLED = 137
"""Exit code of a process that ended by SIGKILL (128 + 9)."""


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``FaultNotVerified`` for unverified faults, ``FaultSkipped`` for those not injected."""
    for window in facts.windows:
        if window.skipped or window.injected_at is None:
            message = "the fault was not injected, so the run shows nothing about it"
            yield Reason("coverage", "FaultSkipped", window.name, message)
        elif not verified(window, facts.timeline):
            message = (
                f"{window.action or 'the fault'} was injected but nothing shows that it took "
                "effect (not what its action implies, of every target)"
            )
            yield Reason("coverage", "FaultNotVerified", window.name, message)
    seen = {window.name for window in facts.windows}
    for fault in facts.run.faults:
        if fault.name not in seen:
            message = "the plan holds this fault but the timeline does not show it injected"
            yield Reason("coverage", "FaultSkipped", fault.name, message)


def verified(window: FaultWindow, timeline: Timeline) -> bool:
    """Whether the controller proved the effect, or the timeline itself shows it."""
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
            # The freezing container speaks by the same clock as the journal's injectedAt.
            events = timeline.of(Source.MEMBER, EventName.FROZEN)
            return any(event.at >= start and event.detail.get("uid") == uid for event in events)
        case _:
            return False
