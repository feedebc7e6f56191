"""A consumer that was taken away for longer than its session must have left its group.

What it owned then belongs to somebody else. Where no other member was ever assigned any of it,
and the controller did not see the member leave, nothing shows that the group noticed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.faults import Action, ObservationKind
from krt_scoring import durations
from krt_scoring.allowances.groups import handover
from krt_scoring.history.facts import groups_of
from krt_scoring.inputs.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.history.ownership import Interval
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.verdict.guards.facts import Facts

ANSWERS = frozenset({ObservationKind.MEMBER_LEFT, ObservationKind.EVICTION_REFUSED})
"""Proofs of the controller that it was seen, or that the member was never away."""


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``FaultNotVerified`` for each fault on a consumer that its group did not notice."""
    sessions = [handover(facts.run, group) for group in groups_of(facts.run)]
    for window in facts.windows:
        if any(proof.get("kind") in ANSWERS for proof in window.observations):
            continue
        for uid in sorted(window.target_uids):
            held = [
                item
                for item in _held(window, uid, facts.ownerships)
                if _due(window, sessions[item.group])
            ]
            if held and not any(_taken(window, item, facts.ownerships) for item in held):
                message = (
                    f"pod {uid} was away for longer than its session "
                    f"({durations.show(sessions[held[0].group])}), but nobody was assigned what "
                    "it owned: nothing shows that it left its group"
                )
                yield Reason("coverage", "FaultNotVerified", window.name, message)


def _held(window: FaultWindow, uid: str, ownerships: tuple[Interval, ...]) -> Iterator[Interval]:
    """Yield what a pod owned when it was struck."""
    for item in ownerships:
        struck = window.injected_at
        if item.incarnation == uid and struck is not None and item.begin <= struck <= item.end:
            yield item


def _due(window: FaultWindow, session: int) -> bool:
    """Whether the member was away, or the run went on, for as long as a session lasts."""
    end = window.reverted_at if window.action == Action.FREEZE_POD else window.recovered_at
    return end is not None and end - (window.injected_at or end) >= session


def _taken(window: FaultWindow, held: Interval, ownerships: tuple[Interval, ...]) -> bool:
    """Whether another member was assigned a partition afterwards."""
    return any(
        (item.group, item.tp) == (held.group, held.tp)
        and item.incarnation != held.incarnation
        and item.begin > (window.injected_at or 0)
        for item in ownerships
    )
