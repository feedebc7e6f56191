"""Whose storage counts as lost when a leader is elected."""

from __future__ import annotations

import pytest

from krt_contract.timeline import Event
from krt_scoring.history.elections import elections


def state(at: int, leader: int, epoch: int, *isr: int) -> Event:
    detail = {"leader": leader, "leader_epoch": epoch, "isr": list(isr), "version": at}
    return Event(at, at, "partition", "state", "foo-0", detail)


def lost(at: int, broker: int, action: str = "LoseDisk") -> Event:
    detail = {"action": action, "targets": [{"member": f"kafka-{broker}"}]}
    return Event(at, at, "fault", "injected", "disk", detail)


BEGIN = state(0, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("events", "storage_lost"),
    [
        # The other replica leads, as it held everything.
        ((lost(5, 0), state(10, 1, 1, 1)), [False]),
        # It comes back empty, is filled by the leader, and leads again.
        (
            (lost(5, 0), state(10, 1, 1, 1), state(20, 1, 1, 0, 1), state(30, 0, 2, 0, 1)),
            [False, False],
        ),
        # It leads before anybody has filled it.
        ((lost(5, 0), state(10, 1, 1, 1), state(20, 0, 2, 0)), [False, True]),
        # Filled once, lost once more.
        (
            (
                lost(5, 0),
                state(10, 1, 1, 1),
                state(20, 1, 1, 0, 1),
                lost(25, 0),
                state(30, 0, 2, 0, 1),
            ),
            [False, True],
        ),
        # Alone in the ISR, nobody can fill it.
        ((state(2, 0, 0, 0), lost(5, 0), state(10, -1, 1, 0), state(20, 0, 2, 0)), [True]),
        ((lost(5, 0), lost(6, 1), state(10, 1, 1, 1)), [True]),
        ((lost(5, 0, "CrashPod"), state(10, 1, 1, 1), state(20, 0, 2, 0)), [False, False]),
    ],
)
def test_elections_storage_filled_again_is_not_lost(
    events: tuple[Event, ...], storage_lost: list[bool]
) -> None:
    found = elections((BEGIN, *events))
    assert [election.storage_lost for election in found] == storage_lost
