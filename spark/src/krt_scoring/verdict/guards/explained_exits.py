"""The traffic pods whose end the timeline explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.labels import Component
from krt_contract.timeline import EventName, Source

if TYPE_CHECKING:
    from krt_scoring.inputs.recording import Recording

TRAFFIC = (Component.PRODUCER, Component.CONSUMER)


def explained(recording: Recording) -> set[str]:
    """Return the uids of pods whose death a fault caused."""
    targeted = {uid for window in recording.faults for uid in window.target_uids}
    killed = recording.timeline.of(Source.MEMBER, EventName.KILLED)
    return targeted | {str(event.detail.get("uid")) for event in killed}
