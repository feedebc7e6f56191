"""When processes stood still, from the timeline: stopped, and gone on later with what they knew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from krt_contract.timeline import EventName, Source
from krt_scoring.allowances import groups

if TYPE_CHECKING:
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.ownership import Interval
    from krt_scoring.history.tables import History

FOREVER = (1 << 62) - 1
"""End of a freeze that nothing ended, in µs; far above any clock."""


@dataclass(frozen=True, slots=True)
class Freeze:
    """One process from its stop to its continuation, in UTC µs.

    Attributes:
        uid: of its pod.
        member: like ``kafka-0``; empty for traffic.
    """

    uid: str
    member: str
    begin: int
    end: int


def of(history: History) -> tuple[Freeze, ...]:
    """Return the freezes of a run, by begin."""
    open_: dict[str, tuple[int, str]] = {}
    found = []
    for event in history.timeline:
        if event.source != Source.MEMBER:
            continue
        uid = str(event.detail.get("uid", ""))
        if event.event == EventName.FROZEN:
            open_[uid] = event.at, str(event.detail.get("member") or "")
        elif event.event == EventName.THAWED and uid in open_:
            begin, member = open_.pop(uid)
            found.append(Freeze(uid, member, begin, event.at))
    found += [Freeze(uid, member, begin, FOREVER) for uid, (begin, member) in open_.items()]
    return tuple(sorted(found, key=lambda item: (item.begin, item.uid)))


def lapsed(
    owned: tuple[Interval, ...], frozen: tuple[Freeze, ...], facts: Facts
) -> tuple[Interval, ...]:
    """Return ownerships with ``lapse`` and ``tolerated`` where a freeze outlasted the session."""
    return tuple(_lapsed(item, frozen, facts) for item in owned) if frozen else owned


def _lapsed(item: Interval, frozen: tuple[Freeze, ...], facts: Facts) -> Interval:
    group = facts.groups[item.group]
    # The session runs from the last heartbeat, which may lie one interval before the freeze.
    session = groups.session(facts.run, group) - groups.heartbeat(facts.run, group)
    for freeze in frozen:
        within = item.begin <= freeze.begin < item.end
        if freeze.uid == item.incarnation and within and freeze.end - freeze.begin >= session:
            tolerated = min(FOREVER, freeze.end + groups.handover(facts.run, group))
            return replace(item, lapse=freeze.begin + session, tolerated=tolerated)
    return item
