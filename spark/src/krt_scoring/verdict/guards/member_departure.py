"""A consumer that was unavailable for longer than its session must have left its group.

Its partitions then belong to another member. Where no other member was ever assigned any of them,
and the controller did not see the member leave, nothing shows that the group noticed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.faults import Action, ObservationKind
from krt_scoring import durations
from krt_scoring.history.groups import groups_of
from krt_scoring.inputs.client_settings import handover_time
from krt_scoring.inputs.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krt_contract.plan import Plan
    from krt_scoring.history.intervals import Interval
    from krt_scoring.inputs.fault_windows import FaultWindow

ANSWERS = frozenset({ObservationKind.MEMBER_LEFT, ObservationKind.EVICTION_REFUSED})
"""Observations of the controller that the member left, or never was unavailable."""


def check(
    run: Plan, faults: Sequence[FaultWindow], ownerships: Sequence[Interval]
) -> Iterator[Reason]:
    """Yield ``FaultNotVerified`` for each fault on a consumer that its group did not notice."""
    sessions = [handover_time(run, group.name) for group in groups_of(run)]
    for window in faults:
        if any(proof.get("kind") in ANSWERS for proof in window.observations):
            continue
        for uid in sorted(window.target_uids):
            owned = [
                item
                for item in _owned(window, uid, ownerships)
                if _due(window, sessions[item.group])
            ]
            if owned and not any(_taken(window, item, ownerships) for item in owned):
                message = (
                    f"pod {uid} was unavailable for longer than its session "
                    f"({durations.show(sessions[owned[0].group])}), but no other member was "
                    "assigned its partitions, so nothing shows that it left its group"
                )
                yield Reason("coverage", "FaultNotVerified", window.name, message)


def _owned(window: FaultWindow, uid: str, ownerships: Sequence[Interval]) -> Iterator[Interval]:
    """Yield what a pod owned when it was struck."""
    for item in ownerships:
        struck = window.injected_at
        if item.incarnation == uid and struck is not None and item.begin <= struck <= item.end:
            yield item


def _due(window: FaultWindow, session: int) -> bool:
    """Whether the member was unavailable, or the run went on, for as long as a session lasts."""
    end = window.reverted_at if window.action == Action.FREEZE_POD else window.recovered_at
    return end is not None and end - (window.injected_at or end) >= session


def _taken(window: FaultWindow, owned: Interval, ownerships: Sequence[Interval]) -> bool:
    """Whether another member was assigned a partition afterwards."""
    return any(
        (item.group, item.tp) == (owned.group, owned.tp)
        and item.incarnation != owned.incarnation
        and item.begin > (window.injected_at or 0)
        for item in ownerships
    )
