"""A fault counts only with proof of its effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.guards.facts import Facts
    from krt_scoring.timeline import Timeline
    from krt_scoring.windows import FaultWindow

KILLED = 137
"""Exit code of a process that ended by SIGKILL (128 + 9)."""


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``NoEffect`` for faults without proof and ``FaultSkipped`` for those not injected."""
    for window in facts.windows:
        if window.skipped or window.injected_at is None:
            message = "the fault was not injected, so the run shows nothing about it"
            yield Reason("coverage", "FaultSkipped", window.name, message)
        elif not proven(window, facts.timeline):
            message = (
                f"{window.action or 'the fault'} was injected but nothing shows that it took "
                "effect (no pod gone, no process killed, no session or leadership lost)"
            )
            yield Reason("coverage", "NoEffect", window.name, message)
    seen = {window.name for window in facts.windows}
    for fault in facts.run.spec.get("faults") or ():
        if fault["name"] not in seen:
            message = "the plan holds this fault but the timeline does not show it injected"
            yield Reason("coverage", "FaultSkipped", fault["name"], message)


def proven(window: FaultWindow, timeline: Timeline) -> bool:
    """Whether the controller proved the effect, or the timeline itself shows it."""
    if window.proven:
        return True
    start, uids = window.injected_at, window.target_uids
    if start is None:
        return False
    if window.action == "DeletePod":
        return any(
            event.at >= start and str(event.detail.get("uid")) in uids
            for event in timeline.of("pod", "deleted")
        )
    if window.action == "CrashPod":
        return any(
            str(event.detail.get("uid")) in uids
            and (event.event == "killed" or event.detail.get("exitCode") == KILLED)
            for event in timeline.of("member", "killed", "exited")
        )
    return False
