"""Losses that a change of leadership may permit, where nobody watched who led.

With acks=1 or acks=0, where unclean election is on, and where storage was lost, what was lost is
permitted or not by who led the partition when. Without a single state of a topic's partitions on
the timeline neither can be said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.clients import Acks
from krt_contract.timeline import EventName, Source
from krt_scoring.history.elections import STORAGE_LOSING_ACTIONS
from krt_scoring.inputs.reasons import TIMELINE_ANOMALIES, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.verdict.guards.facts import Facts

BY_LEADER_CHANGE = ("inconsistent-offsets", "lost-write")
"""What a change of leadership alone may permit a producer that did not ask for all acks."""


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``LeadersUnknown`` for each such topic, where something was found that rests on it."""
    watched = {
        event.subject.rpartition("-")[0]
        for event in facts.timeline.of(Source.PARTITION, EventName.STATE)
    }
    for topic in facts.run.topics:
        told = None if topic.name in watched else permitting(facts, topic.name)
        if told is None:
            continue
        voids, why = told
        if any(facts.violations.get(name) for name in voids):
            message = (
                f"{why}, so a change of leadership may permit what was found, and nothing shows "
                "who led its partitions"
            )
            yield Reason("evidence", "LeadersUnknown", topic.name, message, voids)


def permitting(facts: Facts, topic: str) -> tuple[tuple[str, ...], str] | None:
    """Return what a change of leadership may permit on a topic, and why; None where nothing."""
    if facts.run.unclean_election(topic):
        return TIMELINE_ANOMALIES, "unclean election is on"
    if any(window.action in STORAGE_LOSING_ACTIONS for window in facts.windows):
        return TIMELINE_ANOMALIES, "a member lost its disk"
    if any(p.topic == topic and p.acks is not Acks.ALL for p in facts.run.writers):
        return BY_LEADER_CHANGE, "not every producer asked for all acks"
    return None
