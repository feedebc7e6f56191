"""Losses that an election of a polled cluster may permit, or not, by who was in the ISR then.

Where unclean election is on, or a fault may have removed a disk, what was lost is permitted or not
depending on where the elected leader came from. Polling shows that there was an election, because
leader epochs only grow; it does not show the ISR at that moment. What was found is then neither a
violation nor permitted. A partition whose epoch never grew had no election, and a setting that
forbids unclean election forbids it whoever was in the ISR: what is found there stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.faults import Action
from krt_contract.timeline import EventName, Source
from krt_scoring.allowances.offsets import CONSUMER_OFFSETS, partition_of
from krt_scoring.history.elections import STORAGE_LOSING_ACTIONS, Electorate, elections
from krt_scoring.inputs.evidence import TIMELINE
from krt_scoring.inputs.reasons import TIMELINE_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_contract.plan import Plan
    from krt_scoring.history.elections import Election
    from krt_scoring.inputs.recording import Recording

NOT_BY_ELECTION = frozenset({"accepted-below-min-isr", "double-ownership", "unexpected-rebalance"})
"""Judged by the timeline, but permitted by no election."""

BY_ELECTION = tuple(name for name in TIMELINE_ANOMALIES if name not in NOT_BY_ELECTION)
"""What an election may permit that brings a leader without what was committed."""

BY_LOST_COMMITS = ("commit-rewind", "duplicate-delivery")
"""What the loss of a group's commits may permit."""

BY_LOST_OUTPUT = ("unseen",)
"""What the loss of its output may permit a group that commits its offsets with it."""


def check(recording: Recording, violations: Mapping[str, int]) -> Iterator[Reason]:
    """Yield a reason for each topic and group where something was found that rests on it.

    Args:
        recording: what was recorded.
        violations: anomaly → findings that the configuration does not permit.
    """
    run = recording.run
    causes: dict[tuple[str, int], str] = {}
    for election in elections(recording.timeline.events):
        if election.electorate is Electorate.UNKNOWN and (cause := _cause(election, recording)):
            causes.setdefault((election.topic, election.partition), cause)
    for tested in run.topics:
        places = tuple(place for place in sorted(causes) if place[0] == tested.name)
        if places and any(violations.get(name) for name in BY_ELECTION):
            yield _reason(tested.name, causes[places[0]], BY_ELECTION, Scope(partitions=places))
    for group, cause in _of_groups(recording, causes):
        if any(violations.get(name) for name in BY_LOST_COMMITS):
            yield _reason(group, cause, BY_LOST_COMMITS, Scope(groups=(group,)))
    written = {topic: cause for (topic, _), cause in sorted(causes.items(), reverse=True)}
    for group, topic in _outputs(run):
        if topic in written and any(violations.get(name) for name in BY_LOST_OUTPUT):
            yield _reason(group, written[topic], BY_LOST_OUTPUT, Scope(groups=(group,)))


def _cause(election: Election, recording: Recording) -> str:
    """Return why an election may permit the loss of what was committed; empty where it cannot."""
    if recording.run.unclean_election(election.topic):
        return "unclean election is on"
    for fault in recording.faults:
        if fault.injected_at is None or fault.injected_at > election.at:
            continue
        if fault.action in STORAGE_LOSING_ACTIONS:
            return "a member lost its disk"
        # Nobody knows what somebody else did.
        if fault.action == Action.EXTERNAL:
            return "a fault of somebody else's may have removed a disk"
    return ""


def _of_groups(
    recording: Recording, causes: Mapping[tuple[str, int], str]
) -> Iterator[tuple[str, str]]:
    """Yield the groups whose commits an election may have lost, and why."""
    states = recording.timeline.of(Source.PARTITION, EventName.STATE)
    seen = {event.subject for event in states if event.subject.startswith(f"{CONSUMER_OFFSETS}-")}
    partitions = len(seen) if f"{CONSUMER_OFFSETS}-{len(seen) - 1}" in seen else 0
    for group in sorted({item.group for item in recording.run.consumers}):
        # The brokers may have made the topic with another setting than they have now.
        number = partition_of(group, recording.run, partitions)
        if cause := causes.get((CONSUMER_OFFSETS, number)):
            yield group, cause


def _outputs(run: Plan) -> list[tuple[str, str]]:
    """Return (group, output topic) of the groups that commit their offsets with their output."""
    return sorted(
        {(item.group, item.output.topic) for item in run.consumers if item.output is not None}
    )


def _reason(subject: str, cause: str, anomalies: tuple[str, ...], scope: Scope) -> Reason:
    message = (
        f"{cause}, and a leader was elected, so what was found may be permitted; but the cluster "
        "is polled, which does not show who was in the ISR at that moment. Set "
        "unclean.leader.election.enable to false on the topics, or run the same test on a cluster "
        "that spec.kafka describes"
    )
    scope = Scope((TIMELINE,), scope.partitions, scope.groups)
    return Reason("evidence", "IsrAtElectionUnknown", subject, message, anomalies, scope)
