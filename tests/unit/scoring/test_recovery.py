"""Recovery of ISRs, traffic and lag."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.scoring.builders import event

from krt_contract.plan import Plan
from krt_contract.timeline import EventName, Source
from krt_scoring.inputs.fault_windows import FaultWindow
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics import breakdown, recovery
from krt_scoring.metrics.gaps import Gap
from krt_scoring.metrics.recovery import IsrRecovery

if TYPE_CHECKING:
    from krt_contract.timeline import Event


def state(at: int, isr: list[int], leader: int = 0, version: int = 0) -> Event:
    detail = {"isr": isr, "leader": leader, "leader_epoch": 0, "version": version}
    return event(at, Source.PARTITION, EventName.STATE, "foo-0", **detail)


RUN = Plan.from_document(
    {
        "schemaVersion": 2,
        "run": {"namespace": "n", "name": "t", "uid": "u", "seed": 1},
        "spec": {},
        "topics": [{"name": "foo", "partitions": 1, "replicationFactor": 3}],
    }
)
WINDOW = FaultWindow("f", injected_at=10, reverted_at=20, recovered_at=30)


def test_isr_recoveries_of_a_fault_under_another_is_that_of_both() -> None:
    first = FaultWindow("a", injected_at=10, reverted_at=40, recovered_at=50)
    second = FaultWindow("b", injected_at=20, reverted_at=40, recovered_at=50)
    events = (state(0, [0, 1, 2]), state(12, [0, 1]), state(22, [0]), state(50, [0, 1, 2]))
    found = recovery.isr_recoveries(Timeline(events), RUN, (first, second), 100)
    assert [item.shrank for item in found] == [True, True]


@pytest.mark.parametrize(
    ("events", "restored", "shrank"),
    [
        ([state(0, [0, 1, 2]), state(12, [1, 2]), state(25, [1, 2, 0])], 25, True),
        ([state(0, [0, 1, 2])], 20, False),
        ([state(0, [0, 1, 2]), state(12, [1, 2])], None, True),
        # Back before the revert was written: complete from the revert on.
        ([state(0, [0, 1, 2]), state(12, [1, 2]), state(15, [0, 1, 2])], 20, True),
        # All replicas in sync but no leader is not complete.
        (
            [state(0, [0, 1, 2]), state(12, [0, 1, 2], leader=-1), state(26, [0, 1, 2])],
            26,
            True,
        ),
        # The controller saw it recovered although this state came a little later.
        ([state(0, [0, 1, 2]), state(12, [1, 2]), state(31, [0, 1, 2])], 31, True),
    ],
)
def test_isr_recoveries_is_the_last_return_to_a_complete_isr(
    events: list[Event], restored: int | None, shrank: bool
) -> None:
    found = recovery.isr_recoveries(Timeline(tuple(events)), RUN, (WINDOW,), 100)
    assert found == [IsrRecovery(restored, shrank)]


def test_isr_recoveries_after_an_immediate_revert_waits_for_the_shrink() -> None:
    window = FaultWindow("f", injected_at=10, reverted_at=10, recovered_at=30)
    events = (state(0, [0, 1, 2]), state(14, [1, 2]), state(22, [0, 1, 2]))
    found = recovery.isr_recoveries(Timeline(events), RUN, (window,), 100)
    assert found == [IsrRecovery(22, shrank=True)]


@pytest.mark.parametrize("versions", [(4, 5, 6), (6, 5, 4)])
def test_isr_recoveries_of_states_of_one_moment_follow_their_versions(
    versions: tuple[int, int, int],
) -> None:
    """Times of two states are equal where the member's log has one that the watch missed."""
    isrs = {4: [1], 5: [1, 2], 6: [0, 1, 2]}
    events = [state(0, [0, 1, 2], version=3)]
    events += [state(12 if at == 4 else 25, isrs[at], version=at) for at in versions]
    timeline = Timeline(()).joined(events)
    found = recovery.isr_recoveries(timeline, RUN, (WINDOW,), 100)
    assert found == [IsrRecovery(25, shrank=True)]


def recovered(
    isr: IsrRecovery, served: dict[int, int], last_read: dict[int, int]
) -> recovery.Recovery:
    (found,) = recovery.recoveries((WINDOW,), [isr], served, last_read, 100)
    return found


def test_recoveries_last_until_the_lag_is_cleared() -> None:
    found = recovered(IsrRecovery(25, shrank=True), {}, {0: 28})
    assert (found.duration, found.complete, found.recovered_at) == (8, True, 28)
    never = recovered(IsrRecovery(None, shrank=True), {}, {})
    assert (never.duration, never.complete, never.recovered_at) == (80, False, None)


def test_recoveries_of_a_group_last_until_it_reads_again() -> None:
    """A consumer is killed and not held down: reverted at once, and no ISR ever changes."""
    found = recovered(IsrRecovery(20, shrank=False), {0: 29}, {0: 30})
    assert (found.duration, found.affected, found.recovered_at) == (10, True, 30)


def test_recoveries_without_an_effect_have_no_duration() -> None:
    found = recovered(IsrRecovery(20, shrank=False), {}, {0: 19})
    assert (found.affected, found.recovered_at) == (False, None)
    assert "duration" not in found.as_dict()
    assert recovery.longest([found]) is None


def test_recoveries_before_the_revert_are_told_from_none() -> None:
    found = recovered(IsrRecovery(20, shrank=False), {0: 15}, {0: 15})
    assert found.affected
    assert (found.duration, found.recovered_at) == (0, None)
    assert recovery.longest([found]) == 0


def test_served_again_takes_the_last_gap_named_for_the_fault() -> None:
    gaps = [Gap("read", "g", "foo", 0, 9, 15), Gap("read", "g", "foo", 1, 22, 27)]
    after = Gap("read", "g", "foo", 1, 50, 60)
    assert breakdown.served_again([*gaps, after], (WINDOW,)) == {0: 27}


def test_available_again_is_the_later_of_isr_and_traffic() -> None:
    isrs = [
        IsrRecovery(20, shrank=True),
        IsrRecovery(20, shrank=True),
        IsrRecovery(None, shrank=True),
    ]
    assert recovery.available_again(isrs, {1: 29, 2: 29}) == [20, 29, None]
