"""What members of a group said of themselves: owners, starts, commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.outcomes import ConsumerEvent
from krt_scoring.allowances.groups import handover, patience
from krt_scoring.anomalies.unexpected_rebalance import ROUND, RULE
from krt_scoring.history.ownership import FOREVER
from krt_scoring.selftest.corruption import Corruption, Kind, once
from krt_scoring.selftest.difference import Difference, Finding
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.history.ownership import Interval
    from krt_scoring.selftest.baseline import Ground
    from krt_scoring.selftest.patch import Row

REWOUND, SHARED, REBALANCED = "start-below-commit", "two-owners", "rebalance-without-cause"

GHOST = "selftest-ghost"
"""Incarnation of a member that never was."""

SECOND = 1_000_000


def _owned(ground: Ground, name: str) -> Iterator[tuple[Interval, str, str, int]]:
    """Yield ownerships of partitions about which nothing was found: group, topic, partition."""
    for item in ground.chance(name).sample(ground.owned, len(ground.owned)):
        group = ground.facts.groups[item.group].name
        topic, partition = ground.facts.places.name(item.tp)
        if (group, topic, partition) not in ground.troubled:
            yield item, group, topic, partition


def _event(ground: Ground, item: Interval, event: ConsumerEvent, **columns: object) -> Row:
    topic, partition = ground.facts.places.name(item.tp)
    row: Row = {
        "consumer": item.consumer,
        "incarnation": item.incarnation,
        "group": ground.facts.groups[item.group].name,
        "event_seq": item.first_n,
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


def _about(ground: Ground, anomaly: str, item: Interval) -> Finding:
    topic, partition = ground.facts.places.name(item.tp)
    return Finding(
        anomaly,
        topic=topic,
        partition=partition,
        offset=item.start,
        grp=ground.facts.groups[item.group].name,
        consumer=item.consumer,
        incarnation=item.incarnation,
        event_seq=item.first_n,
    )


def _rewound(ground: Ground) -> Iterator[Corruption]:
    """Let the group have committed one further than where a member began to read."""
    for item, group, topic, partition in _owned(ground, REWOUND):
        if item.start is None or item.group in ground.lost_commits:
            continue
        committed = item.start + 1
        below = [
            other
            for other in ground.owned
            if (other.group, other.tp) == (item.group, item.tp)
            and other.begin >= item.begin
            and other.start is not None
            and other.start < committed
            and (other.committed is None or other.committed <= other.start)
        ]
        row = _event(
            ground, item, ConsumerEvent.COMMITTED, event_seq=item.first_n - 1, offset=committed
        )
        found = once(*[_about(ground, "commit-rewind", other) for other in below])
        claims: set[object] = {("commits", group, topic, partition)}
        first = ground.facts.starts.get((item.group, item.tp))
        if first is None or first.offset != item.start:
            # The commit could be ahead of a delivery dropped below it.
            claims.add(("missing", group, topic, partition))
        yield Corruption(
            REWOUND,
            (topic, partition, item.start),
            Patch(events=(row,)),
            Difference(found),
            frozenset(claims),
        )


def _shared(ground: Ground) -> Iterator[Corruption]:
    """Let somebody own a partition from just before its first owner, and commit far too late."""
    for item, group, topic, partition in _owned(ground, SHARED):
        spot = item.group, item.tp
        owners = [other for other in ground.owned if (other.group, other.tp) == spot]
        start = ground.facts.starts.get(spot)
        if item is not owners[0] or start is None or start.offset is None:
            continue
        info = ground.facts.groups[item.group]
        late = item.begin + handover(ground.facts.run, info) + 1
        ghost = {"incarnation": GHOST, "generation": item.generation, "offset": start.offset}
        # The owner commits as late: a run shorter than the handover ends before that.
        own = {"event_seq": item.first_n + 1, "at": late, "offset": start.offset}
        events = (
            _event(
                ground,
                item,
                ConsumerEvent.ASSIGNED,
                **ghost | {"event_seq": 0, "at": item.begin - 1},
            ),
            _event(ground, item, ConsumerEvent.COMMITTED, **ghost | {"event_seq": 1, "at": late}),
            _event(ground, item, ConsumerEvent.COMMITTED, **own),
        )
        found = once(_about(ground, "double-ownership", item))
        yield Corruption(
            SHARED,
            (topic, partition, start.offset),
            Patch(events=events),
            Difference(found),
            frozenset({("owners", group, topic, partition)}),
        )


def _rebalanced(ground: Ground) -> Iterator[Corruption]:
    """Let a member be assigned its partition anew long after anybody came or left."""
    for item, group, topic, partition in _owned(ground, REBALANCED):
        if (group, None, None) in ground.troubled:
            continue
        info = ground.facts.groups[item.group]
        known = [other for other in ground.owned if other.group == item.group]
        latest = max([*ground.causes[item.group], *[other.begin for other in known]])
        at = latest + patience(ground.facts.run, info) + ROUND + SECOND
        generations = [other.generation for other in known if other.generation is not None]
        # Behind everything the member did with the partition while it owned it.
        n = item.last_n - 1 if item.last_n < FOREVER else item.first_n + (1 << 40)
        generation = max(generations) + 1 if generations else None
        row = _event(
            ground, item, ConsumerEvent.ASSIGNED, event_seq=n, at=at, generation=generation
        )
        found = once(Finding("unexpected-rebalance", rule=RULE, grp=group))
        yield Corruption(
            REBALANCED,
            (topic, partition, None),
            Patch(events=(row,)),
            Difference(found),
            frozenset({("owners", group, topic, partition), ("members", group)}),
        )


KINDS = (
    Kind(REWOUND, ("commit-rewind",), "a member assigned a partition at a known offset", _rewound),
    Kind(SHARED, ("double-ownership",), "a partition's first owner, its start known", _shared),
    Kind(REBALANCED, ("unexpected-rebalance",), "a member assigned a partition", _rebalanced),
)
