"""When processes were frozen, from the timeline: stopped, and thawed later with what they knew.

The containers that stop and thaw the test's own processes say when they did. Of brokers that
somebody else runs, the fault says it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from krt_contract.faults import Action
from krt_contract.members import member_of
from krt_contract.timeline import EventName, Source
from krt_scoring.inputs import client_settings
from krt_scoring.inputs.broker_session import lasts_until
from krt_scoring.inputs.fault_windows import fault_windows
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_contract.timeline import Event
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.intervals import Interval


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


def collect(timeline: Sequence[Event]) -> tuple[Freeze, ...]:
    """Return the freezes of a run, by begin."""
    open_: dict[str, tuple[int, str]] = {}
    found = []
    for event in timeline:
        if event.source != Source.MEMBER:
            continue
        uid = str(event.detail.get("uid", ""))
        if event.event == EventName.FROZEN:
            open_[uid] = event.at, str(event.detail.get("member") or "")
        elif event.event == EventName.THAWED and uid in open_:
            begin, member = open_.pop(uid)
            found.append(Freeze(uid, member, begin, event.at))
    found += [Freeze(uid, member, begin, FOREVER) for uid, (begin, member) in open_.items()]
    found += _of_others(timeline)
    return tuple(sorted(found, key=lambda item: (item.begin, item.uid)))


def _of_others(timeline: Sequence[Event]) -> list[Freeze]:
    """Return the freezes of brokers that somebody else runs, whose pods nobody watches.

    Their faults are injected at the first stop and reverted at the last thaw, by the nodes' clocks.
    """
    return [
        Freeze(str(target.get("uid")), str(target.get("member")), window.begin, window.end)
        for window in fault_windows(timeline)
        if window.action == Action.FREEZE_POD and window.injected
        for target in window.targets
        if target.get("namespace")
    ]


def last_ack(
    leader: int, at: int, frozen: tuple[Freeze, ...], grace: int, restarts: Sequence[int] = ()
) -> int:
    """Return until when a leader may have acked by what it knew before a change, in UTC µs.

    A leader that was stopped meanwhile handles what waited in its sockets as soon as it goes on,
    before it hears of the change.

    Args:
        leader: before the change, as which it was deposed or kept.
        at: when the cluster's metadata changed, UTC µs.
        frozen: the freezes of the run.
        grace: µs within which the leader hears of it.
        restarts: when a KRaft controller was elected, in UTC µs: from then on the time counts
            again, as a broker hears of nothing until it has found the new one.
    """
    member = member_of(leader)
    thaws = [item.end for item in frozen if item.member == member and item.begin <= at]
    return lasts_until(max([at, *thaws]), grace, restarts)


def with_lapses(
    owned: tuple[Interval, ...], frozen: tuple[Freeze, ...], facts: Facts
) -> tuple[Interval, ...]:
    """Return intervals with ``lapse`` and ``tolerated`` where a freeze outlasted the session."""
    return tuple(_with_lapse(item, frozen, facts) for item in owned) if frozen else owned


def _with_lapse(item: Interval, frozen: tuple[Freeze, ...], facts: Facts) -> Interval:
    group = facts.groups[item.group].name
    # The session runs from the last heartbeat, which may lie one interval before the freeze.
    heartbeat = client_settings.heartbeat_interval(facts.run, group)
    session = client_settings.session_timeout(facts.run, group) - heartbeat
    for freeze in frozen:
        within = item.begin <= freeze.begin < item.end
        if freeze.uid == item.incarnation and within and freeze.end - freeze.begin >= session:
            handover = client_settings.handover_time(facts.run, group)
            tolerated = min(FOREVER, freeze.end + handover)
            return replace(item, lapse=freeze.begin + session, tolerated=tolerated)
    return item
