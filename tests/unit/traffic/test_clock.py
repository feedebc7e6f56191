from __future__ import annotations

import time
from typing import TYPE_CHECKING

from krt_traffic import clock

if TYPE_CHECKING:
    import pytest

MILLISECOND = 1_000_000
"""Nanoseconds."""


class Machine:
    """Two clocks that run together, and a scheduler that takes the core away at chosen readings."""

    def __init__(self, *lost: int) -> None:
        self.now = 0
        self.readings = 0
        self.lost = lost

    def read(self) -> int:
        self.now += 50 * MILLISECOND if self.readings in self.lost else 100
        self.readings += 1
        return self.now


def drift(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(time, "time_ns", machine.read)
    monkeypatch.setattr(time, "monotonic_ns", machine.read)
    at, now = clock.both()
    return abs(at - now)


def test_both_reads_the_clocks_at_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drift(Machine(), monkeypatch) == 0


def test_both_with_a_core_lost_between_the_readings_reads_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine(1, 2, 3)
    assert drift(machine, monkeypatch) == 0
    assert machine.readings > 3


def test_both_with_a_core_always_lost_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drift(Machine(*range(100)), monkeypatch) > 0
