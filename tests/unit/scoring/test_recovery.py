"""Recovery of ISRs and lag."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.scoring.builders import event

from krt_contract.plan import Plan
from krt_scoring.inputs.fault_windows import FaultWindow
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics import recovery

if TYPE_CHECKING:
    from krt_contract.timeline import Event


def state(at: int, isr: list[int], leader: int = 0, epoch: int = 0) -> Event:
    return event(at, "partition", "state", "foo-0", isr=isr, leader=leader, leader_epoch=epoch)


RUN = Plan.from_document(
    {
        "schemaVersion": 2,
        "run": {"namespace": "n", "name": "t", "uid": "u", "seed": 1},
        "spec": {},
        "topics": [{"name": "foo", "partitions": 1, "replicationFactor": 3}],
    }
)


WINDOW = FaultWindow("f", injected_at=10, reverted_at=20, recovered_at=30)


@pytest.mark.parametrize(
    ("events", "whole"),
    [
        ([state(0, [0, 1, 2]), state(12, [1, 2]), state(25, [1, 2, 0])], 25),
        ([state(0, [0, 1, 2])], 20),
        ([state(0, [0, 1, 2]), state(12, [1, 2])], None),
        # Back before the revert was written: whole from the revert on.
        ([state(0, [0, 1, 2]), state(12, [1, 2]), state(15, [0, 1, 2])], 20),
        # Whole but leaderless is not whole.
        ([state(0, [0, 1, 2]), state(12, [0, 1, 2], leader=-1), state(26, [0, 1, 2])], 26),
        # The controller saw it recovered although this state came a little later.
        ([state(0, [0, 1, 2]), state(12, [1, 2]), state(31, [0, 1, 2])], 31),
    ],
)
def test_isr_restored_times_is_the_last_return_to_a_complete_isr(
    events: list[Event], whole: int | None
) -> None:
    assert recovery.isr_restored_times(Timeline(tuple(events)), RUN, (WINDOW,), 100) == [whole]


def test_isr_restored_times_after_an_immediate_revert_waits_for_the_shrink() -> None:
    window = FaultWindow("f", injected_at=10, reverted_at=10, recovered_at=30)
    events = (state(0, [0, 1, 2]), state(14, [1, 2]), state(22, [0, 1, 2]))
    assert recovery.isr_restored_times(Timeline(events), RUN, (window,), 100) == [22]


def test_recoveries_last_until_the_lag_is_cleared() -> None:
    (found,) = recovery.recoveries((WINDOW,), [25], {0: 28}, 100)
    assert (found.duration, found.complete) == (8, True)
    (never,) = recovery.recoveries((WINDOW,), [None], {}, 100)
    assert (never.duration, never.complete) == (80, False)
