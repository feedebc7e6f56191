"""Which traffic pods ended for a reason that the timeline shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.labels import Component
from krt_contract.timeline import EventName, Source

if TYPE_CHECKING:
    from krt_scoring.verdict.guards.facts import Facts

TRAFFIC = (Component.PRODUCER, Component.CONSUMER)


def explained(facts: Facts) -> set[str]:
    """Return the uids of pods whose death a fault caused."""
    targeted = {uid for window in facts.windows for uid in window.target_uids}
    killed = {
        str(event.detail.get("uid")) for event in facts.timeline.of(Source.MEMBER, EventName.KILLED)
    }
    return targeted | killed
