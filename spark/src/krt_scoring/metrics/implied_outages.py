"""The outages that a fault is bound to cause, before any is measured.

A broker that is killed keeps its session, and with it its leadership, until the session expires; a
consumer that is killed keeps its partitions until its group's session timeout. Until then nobody
else can serve them. A frozen process and a static member cause the same, or an outage as long as
the fault, if that is shorter. A process that is asked to stop hands over first, so it implies
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.faults import Action
from krt_contract.members import broker_of
from krt_scoring.history.groups import groups_of
from krt_scoring.inputs.client_settings import session_timeout
from krt_scoring.metrics.operations import READ, WRITE
from krt_scoring.metrics.partition_states import States

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krt_contract.plan import Plan
    from krt_scoring.history.groups import Group
    from krt_scoring.history.intervals import Interval
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.recording import Recording

ABRUPT = frozenset({Action.CRASH_POD, Action.FREEZE_POD, Action.LOSE_DISK})
"""Actions after which a process hands nothing over."""


def implied_outages(
    recording: Recording, ownerships: Sequence[Interval]
) -> dict[tuple[str, str], tuple[int, str]]:
    """Return direction and group → the shortest outage that a fault implies, µs, and the fault.

    Args:
        recording: what was recorded.
        ownerships: who owned which partition in which group, and when.
    """
    run, groups = recording.run, groups_of(recording.run)
    states = States.of(recording.timeline, run)
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for window in recording.faults:
        if window.action not in ABRUPT or window.injected_at is None:
            continue
        at = window.injected_at
        sessions = (
            *_of_brokers(window, at, states, run, groups),
            *_of_members(window, at, ownerships, run, groups),
        )
        for kind, session in sessions:
            frozen = window.action == Action.FREEZE_POD and window.duration
            outage = min(session, window.duration) if frozen else session
            found[kind] = min(found.get(kind, (outage, window.name)), (outage, window.name))
    return found


def _of_brokers(
    window: FaultWindow, at: int, states: States, run: Plan, groups: Sequence[Group]
) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield what the sessions of brokers keep others from taking over, and for how long."""
    brokers = {broker_of(member) for member in window.members}
    if any(seen and seen[0].leader in brokers for seen in states.during(at, at).values()):
        session = run.broker_session.micros
        yield (WRITE, ""), session
        for group in groups:
            yield (READ, group.name), session


def _of_members(
    window: FaultWindow,
    at: int,
    ownerships: Sequence[Interval],
    run: Plan,
    groups: Sequence[Group],
) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield what the sessions of group members keep others from taking over, and for how long."""
    for item in ownerships:
        if item.incarnation not in window.target_uids or not item.begin <= at <= item.end:
            continue
        group = groups[item.group]
        session = session_timeout(run, group.name)
        if not group.static:
            yield (READ, group.name), session
        elif window.duration:
            # A static member ends the outage itself where it is back within the session.
            yield (READ, group.name), min(session, window.duration)
