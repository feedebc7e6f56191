"""Losses that a change of leadership may permit, where the leaders were not recorded.

With acks=1 or acks=0, where unclean election is on, and where storage was lost, what was lost is
permitted or not depending on who led the partition when. Without a single state of a topic's
partitions on the timeline this is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.clients import Acks
from krt_scoring.history.elections import STORAGE_LOSING_ACTIONS
from krt_scoring.inputs.reasons import TIMELINE_ANOMALIES, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.inputs.recording import Recording

BY_LEADER_CHANGE = ("inconsistent-offsets", "lost-write")
"""What a change of leadership alone may permit a producer that did not ask for all acks."""


def check(recording: Recording, violations: Mapping[str, int]) -> Iterator[Reason]:
    """Yield ``LeadersUnknown`` for each such topic, where something was found that rests on it."""
    watched = {
        event.subject.rpartition("-")[0] for event in recording.timeline.of("partition", "state")
    }
    for topic in recording.run.topics:
        permission = None if topic.name in watched else permitting(recording, topic.name)
        if permission is None:
            continue
        anomalies, cause = permission
        if any(violations.get(name) for name in anomalies):
            message = (
                f"{cause}, so a change of leadership may permit what was found, but the leaders of "
                "the topic's partitions were not recorded. See the recorder's log and run the test "
                "again"
            )
            yield Reason("evidence", "LeadersUnknown", topic.name, message, anomalies)


def permitting(recording: Recording, topic: str) -> tuple[tuple[str, ...], str] | None:
    """Return the anomalies a change of leadership may permit on a topic, and why; None for none."""
    if recording.run.unclean_election(topic):
        return TIMELINE_ANOMALIES, "unclean election is on"
    if any(window.action in STORAGE_LOSING_ACTIONS for window in recording.faults):
        return TIMELINE_ANOMALIES, "a member lost its disk"
    if any(p.topic == topic and p.acks is not Acks.ALL for p in recording.run.writers):
        return BY_LEADER_CHANGE, "not every producer asked for all acks"
    return None
