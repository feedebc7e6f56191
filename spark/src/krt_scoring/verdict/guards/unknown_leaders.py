"""Losses that a change of leadership may permit, where the leaders were not recorded.

With acks=1 or acks=0, where unclean election is on, and where storage was lost, what was lost is
permitted or not depending on who led the partition when. This is not known where the timeline has
no state of a topic's partitions, where an epoch is missing, and where the states were not read to
the end. What was found is then no violation: a leader that was not seen may permit it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.clients import Acks
from krt_contract.timeline import EventName, Source
from krt_scoring.history.elections import STORAGE_LOSING_ACTIONS
from krt_scoring.inputs.evidence import TIMELINE
from krt_scoring.inputs.reasons import TIMELINE_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope
from krt_scoring.verdict.guards import unseen_leaders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_contract.entries import Topic
    from krt_scoring.inputs.recording import Recording
    from krt_scoring.verdict.guards.unseen_leaders import UnseenLeaders

BY_LEADER_CHANGE = ("inconsistent-offsets", "lost-write")
"""What a change of leadership alone may permit a producer that did not ask for all acks."""


def check(recording: Recording, violations: Mapping[str, int]) -> Iterator[Reason]:
    """Yield ``LeadersUnknown`` for each such topic, where something was found that rests on it."""
    states = recording.timeline.of(Source.PARTITION, EventName.STATE)
    watched = {event.subject.rpartition("-")[0] for event in states}
    unseen = unseen_leaders.find(recording)
    for topic in recording.run.topics:
        missed = tuple(item for item in unseen if item.topic == topic.name)
        permission = (
            permitting(recording, topic.name) if missed or topic.name not in watched else None
        )
        if permission is None:
            continue
        anomalies, cause = permission
        if any(violations.get(name) for name in anomalies):
            scope = Scope(tables=(TIMELINE,), partitions=_partitions(topic, missed))
            message = _message(cause, missed)
            yield Reason("evidence", "LeadersUnknown", topic.name, message, anomalies, scope)


def _partitions(topic: Topic, missed: tuple[UnseenLeaders, ...]) -> tuple[tuple[str, int], ...]:
    """Return the partitions whose leader was not recorded; all of them where none was watched."""
    numbers = {int(item.partition.rpartition("-")[2]) for item in missed}
    return tuple((topic.name, number) for number in sorted(numbers or range(topic.partitions)))


def _message(cause: str, missed: tuple[UnseenLeaders, ...]) -> str:
    if not missed:
        unknown = "the leaders of the topic's partitions were not recorded"
    elif any(item.end is None for item in missed):
        unknown = f"the last leaders of {unseen_leaders.names(missed)} were not recorded"
    else:
        unknown = f"a leader of {unseen_leaders.names(missed)} was not recorded"
    return (
        f"{cause}, so a change of leadership may permit what was found, but {unknown}. See the "
        "recorder's log and run the test again"
    )


def permitting(recording: Recording, topic: str) -> tuple[tuple[str, ...], str] | None:
    """Return the anomalies a change of leadership may permit on a topic, and why; None for none."""
    if recording.run.unclean_election(topic):
        return TIMELINE_ANOMALIES, "unclean election is on"
    if any(window.action in STORAGE_LOSING_ACTIONS for window in recording.faults):
        return TIMELINE_ANOMALIES, "a member lost its disk"
    if any(p.topic == topic and p.acks is not Acks.ALL for p in recording.run.writers):
        return BY_LEADER_CHANGE, "not every producer asked for all acks"
    return None
