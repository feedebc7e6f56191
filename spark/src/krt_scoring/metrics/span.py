"""When a run's operations were due, and from when on they are measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.timeline import EventName, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.recording import Recording
    from krt_scoring.inputs.timeline import Timeline

AFTER_WARMUP = "Injecting"
"""The phase that follows the warm-up."""


@dataclass(frozen=True, slots=True)
class Span:
    """When the run's operations were due; UTC µs.

    Attributes:
        first: earliest scheduled send.
        steady: from here on traffic is established; nothing earlier is measured.
        end: when the last operation of the run was done.
    """

    first: int
    steady: int
    end: int


def steady_from(
    first: int,
    last: int,
    timeline: Timeline,
    windows: Sequence[FaultWindow],
    warmup: int,
) -> int:
    """Return when traffic was established, UTC µs.

    The warm-up is counted once every producer and consumer is at work, so it is the last part of
    the phase Warmup; where the timeline does not show the phase, or there is no warm-up, it is
    the second half of the time before any fault.

    Args:
        first: earliest scheduled send.
        last: latest scheduled send.
        timeline: the run's events.
        windows: the faults.
        warmup: ``spec.warmup`` in µs.
    """
    entered = [
        event.at
        for event in timeline.of(Source.PHASE, EventName.ENTERED)
        if event.subject == AFTER_WARMUP
    ]
    if entered and warmup:
        return max(first, min(entered) - warmup)
    injected = [w.injected_at for w in windows if w.injected_at is not None]
    return first + max(0, min([*injected, last]) - first) // 2


def span_of(recording: Recording) -> Span:
    """Return when the operations of a recorded run were due."""
    first, last = recording.inspection.sends
    end = max((high for _, high in recording.inspection.times.values()), default=0)
    if recording.run.imported:
        return Span(first, first, end)
    steady = steady_from(
        first, last, recording.timeline, recording.faults, recording.run.warmup.micros
    )
    return Span(first, steady, end)
