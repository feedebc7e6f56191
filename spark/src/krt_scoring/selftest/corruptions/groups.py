"""What members of a group reported about themselves: owners, starts, commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.outcomes import ConsumerEvent
from krt_scoring.anomalies.unexpected_rebalance import ROUND, RULE
from krt_scoring.inputs.client_settings import handover_time, rebalance_window
from krt_scoring.inputs.timeline import CLOCK_SLACK, FOREVER
from krt_scoring.selftest.corruption import Corruption, Kind, once
from krt_scoring.selftest.difference import Difference, Finding
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.history.intervals import Interval
    from krt_scoring.selftest.baseline import Baseline
    from krt_scoring.selftest.patch import Row

REWOUND, SHARED, REBALANCED = "start-below-commit", "two-owners", "rebalance-without-cause"

GHOST = "selftest-ghost"
"""Incarnation of a member that never was."""

SECOND = 1_000_000


def _owned(baseline: Baseline, name: str) -> Iterator[tuple[Interval, str, str, int]]:
    """Yield ownerships of partitions about which nothing was found: group, topic, partition."""
    for item in baseline.chance(name).sample(baseline.owned, len(baseline.owned)):
        group = baseline.facts.groups[item.group].name
        topic, partition = baseline.facts.positions.name(item.tp)
        if (group, topic, partition) not in baseline.troubled:
            yield item, group, topic, partition


def _event(baseline: Baseline, item: Interval, event: ConsumerEvent, **columns: object) -> Row:
    topic, partition = baseline.facts.positions.name(item.tp)
    row: Row = {
        "consumer": item.consumer,
        "incarnation": item.incarnation,
        "group": baseline.facts.groups[item.group].name,
        "event_seq": item.first_seq,
        "poll": None,
        "at": item.begin,
        "mono": 0,
        "event": event.value,
        "topic": topic,
        "partition": partition,
        "offset": None,
        "generation": None,
        "member_id": None,
        "detail": None,
    }
    return row | columns


def _about(baseline: Baseline, anomaly: str, item: Interval) -> Finding:
    topic, partition = baseline.facts.positions.name(item.tp)
    return Finding(
        anomaly,
        topic=topic,
        partition=partition,
        offset=item.start,
        grp=baseline.facts.groups[item.group].name,
        consumer=item.consumer,
        incarnation=item.incarnation,
        event_seq=item.first_seq,
    )


def _rewound(baseline: Baseline) -> Iterator[Corruption]:
    """Let the group have committed one further than where a member began to read."""
    for item, group, topic, partition in _owned(baseline, REWOUND):
        if item.start is None or item.group in baseline.lost_commits:
            continue
        committed = item.start + 1
        below = [
            other
            for other in baseline.owned
            if (other.group, other.tp) == (item.group, item.tp)
            and other.begin >= item.begin
            and other.start is not None
            and other.start < committed
            and (other.committed is None or other.committed <= other.start)
            # Whoever began after a later commit began below that one, or not at all.
            and (other.committed_at is None or other.committed_at < item.begin)
        ]
        earlier = None if item.generation is None else item.generation - 1
        row = _event(
            baseline,
            item,
            ConsumerEvent.COMMITTED,
            event_seq=item.first_seq - 1,
            offset=committed,
            generation=earlier,
        )
        findings = once(*[_about(baseline, "commit-rewind", other) for other in below])
        depends_on: set[object] = {("commits", group, topic, partition)}
        first = baseline.facts.starts.get((item.group, item.tp))
        if first is None or first.offset != item.start:
            # The commit could be ahead of a delivery dropped below it.
            depends_on.add(("missing", group, topic, partition))
        yield Corruption(
            REWOUND,
            (topic, partition, item.start),
            Patch(events=(row,)),
            Difference(findings),
            frozenset(depends_on),
        )


def _shared(baseline: Baseline) -> Iterator[Corruption]:
    """Let somebody own a partition from just before its first owner, and commit far too late."""
    for item, group, topic, partition in _owned(baseline, SHARED):
        spot = item.group, item.tp
        owners = [other for other in baseline.owned if (other.group, other.tp) == spot]
        start = baseline.facts.starts.get(spot)
        if item is not owners[0] or start is None or start.offset is None:
            continue
        info = baseline.facts.groups[item.group]
        late = item.begin + handover_time(baseline.facts.run, info.name) + CLOCK_SLACK + 1
        ghost = {"incarnation": GHOST, "generation": item.generation, "offset": start.offset}
        # The owner commits as late: a run shorter than the handover ends before that.
        own = {"event_seq": item.first_seq + 1, "at": late, "offset": start.offset}
        events = (
            _event(
                baseline,
                item,
                ConsumerEvent.ASSIGNED,
                **ghost | {"event_seq": 0, "at": item.begin - 1},
            ),
            _event(baseline, item, ConsumerEvent.COMMITTED, **ghost | {"event_seq": 1, "at": late}),
            _event(baseline, item, ConsumerEvent.COMMITTED, **own),
        )
        findings = once(_about(baseline, "double-ownership", item))
        yield Corruption(
            SHARED,
            (topic, partition, start.offset),
            Patch(events=events),
            Difference(findings),
            # Its commits are later than others, and so may be the last one before an owner.
            frozenset({("owners", group, topic, partition), ("commits", group, topic, partition)}),
        )


def _rebalanced(baseline: Baseline) -> Iterator[Corruption]:
    """Let a member be assigned its partition again long after anybody came or left."""
    for item, group, topic, partition in _owned(baseline, REBALANCED):
        if (group, None, None) in baseline.troubled:
            continue
        info = baseline.facts.groups[item.group]
        known = [other for other in baseline.owned if other.group == item.group]
        latest = max([*baseline.causes[item.group], *[other.begin for other in known]])
        at = latest + rebalance_window(baseline.facts.run, info.name) + ROUND + SECOND
        generations = [other.generation for other in known if other.generation is not None]
        # Behind everything the member did with the partition while it owned it.
        n = item.last_seq - 1 if item.last_seq < FOREVER else item.first_seq + (1 << 40)
        generation = max(generations) + 1 if generations else None
        row = _event(
            baseline, item, ConsumerEvent.ASSIGNED, event_seq=n, at=at, generation=generation
        )
        findings = once(Finding("unexpected-rebalance", rule=RULE, grp=group))
        yield Corruption(
            REBALANCED,
            (topic, partition, None),
            Patch(events=(row,)),
            Difference(findings),
            frozenset({("owners", group, topic, partition), ("members", group)}),
        )


KINDS = (
    Kind(REWOUND, ("commit-rewind",), "a member assigned a partition at a known offset", _rewound),
    Kind(SHARED, ("double-ownership",), "a partition's first owner, its start known", _shared),
    Kind(REBALANCED, ("unexpected-rebalance",), "a member assigned a partition", _rebalanced),
)
