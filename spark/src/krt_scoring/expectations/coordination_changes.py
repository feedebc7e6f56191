"""Expectations about sessions, the controller and the quorum during a fault.

A silence of ZooKeeper hides none of them: sessions and controllers are identified by the
transaction that created their node, so an end during a silence is recorded after it. The metadata
log of KRaft has them all. Of a polled cluster, and where the recorder ended early, only what was
seen is known: that there was no more is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.metadata import MetadataMode, Strength
from krt_contract.timeline import EventName, Source
from krt_scoring.expectations.results import (
    Noun,
    Result,
    count_bounds,
    evaluate_count,
    not_evaluated,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_contract.plan import Plan
    from krt_contract.timeline import Event
    from krt_scoring.expectations.fault_span import FaultSpan
    from krt_scoring.inputs.timeline import Timeline


def evaluate(
    expect: Mapping[str, Any], span: FaultSpan, timeline: Timeline, run: Plan
) -> Iterator[Result]:
    """Yield the results of these expectations within a fault's span.

    Args:
        expect: an entry of ``spec.expect.faults``.
        span: the fault and the time.
        timeline: the events of the run.
        run: the plan; some expectations have a meaning in one mode of metadata only.
    """
    kraft = run.metadata.mode is MetadataMode.KRAFT
    # What came and went between two polls was not seen, nor what came after the last record.
    end = timeline.unobserved_from()
    unrecorded = end is not None and end < span.end
    incomplete = run.metadata.source.strength is Strength.OBSERVED or unrecorded
    for field, counted in EVENTS.items():
        source, event, what = IN_KRAFT.get(field, counted) if kraft else counted
        bounds = expect.get(field)
        if not bounds:
            continue
        expectation = f"{span.name}.{field}"
        if (mode := ONLY_WITH.get(field, run.metadata.mode)) is not run.metadata.mode:
            cause = f"the cluster is not of mode {mode}"
            yield not_evaluated(expectation, count_bounds(bounds, what), cause)
            continue
        if not any(timeline.of(source)):
            yield not_evaluated(
                expectation, count_bounds(bounds, what), f"the timeline has no event of {source}"
            )
            continue
        found = [e.subject for e in timeline.of(source, event) if _within(e, span)]
        if field in CHANGES:
            found = _changes(source, event, span, timeline)
        yield evaluate_count(
            expectation,
            bounds,
            len(found),
            what,
            at_least=incomplete,
            where=", ".join(found[:8]),
        )


EVENTS = {
    "brokerSessionExpirations": (
        Source.BROKER,
        EventName.UNREGISTERED,
        Noun("expired broker session", "expired broker sessions"),
    ),
    "brokersFenced": (
        Source.BROKER,
        EventName.FENCED,
        Noun("fenced broker", "fenced brokers"),
    ),
    "controllerChanges": (
        Source.CONTROLLER,
        EventName.ELECTED,
        Noun("change of controller", "changes of controller"),
    ),
    "zookeeperLeaderChanges": (
        Source.ZOOKEEPER,
        EventName.LEADER,
        Noun("change of ZooKeeper's leader", "changes of ZooKeeper's leader"),
    ),
    "quorumLosses": (
        Source.ZOOKEEPER,
        EventName.QUORUM_LOST,
        Noun("loss of ZooKeeper's quorum", "losses of ZooKeeper's quorum"),
    ),
}
"""Field → source and event of the timeline, and what they count."""

ONLY_WITH = {
    "brokerSessionExpirations": MetadataMode.ZOOKEEPER,
    "zookeeperLeaderChanges": MetadataMode.ZOOKEEPER,
    "brokersFenced": MetadataMode.KRAFT,
}
"""Field → the mode of metadata in which there is such a thing."""

IN_KRAFT = {
    "quorumLosses": (
        Source.CONTROLLER,
        EventName.QUORUM_LOST,
        Noun("loss of the controllers' quorum", "losses of the controllers' quorum"),
    ),
}
"""What a field counts in KRaft, where that is another thing than with ZooKeeper."""

CHANGES = ("controllerChanges", "zookeeperLeaderChanges")
"""Fields that count only what differs from the one before."""


def _within(event: Event, span: FaultSpan) -> bool:
    """Whether an event certainly happened within the span; a polled one may be of before."""
    earliest = int(event.detail.get("unchanged_until", event.at))
    return span.start < event.at <= span.end and earliest >= span.start


def _changes(source: str, event: str, span: FaultSpan, timeline: Timeline) -> list[str]:
    found = []
    before = ""
    for item in timeline.of(source, event):
        if item.at > span.end:
            break
        if _within(item, span) and item.subject != before and before:
            found.append(item.subject)
        before = item.subject
    return found
