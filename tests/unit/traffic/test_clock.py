from __future__ import annotations

import time

import pytest

from krt_traffic import clock

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


class SetClock:
    """Two clocks of which the wall clock is set once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mono, self.ahead = 0, 1_000_000 * MILLISECOND
        monkeypatch.setattr(time, "monotonic_ns", lambda: self.mono)
        monkeypatch.setattr(time, "time_ns", lambda: self.mono + self.ahead)


def test_event_clock_stamps_what_the_clocks_show(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = SetClock(monkeypatch)
    stamps = clock.EventClock()
    for _ in range(5):
        assert stamps.both() == (clock.wall(), clock.mono())
        clocks.mono += MILLISECOND // 3


@pytest.mark.parametrize("step", [50, -50])
def test_event_clock_shows_a_clock_that_was_set_within_its_bound(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    clocks = SetClock(monkeypatch)
    stamps = clock.EventClock()
    stamps.both()
    clocks.ahead += step * MILLISECOND
    clocks.mono += clock.REREAD_MICROS * 1000
    assert stamps.both() == (clock.wall(), clock.mono())


def test_event_clock_gives_what_is_there_at_once_the_first_stamp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clocks = SetClock(monkeypatch)
    stamps = clock.EventClock()
    seen = [stamps.shared]
    with stamps.at_once():
        seen.append(stamps.shared)
        clocks.mono += MILLISECOND
        first = stamps.both()
        clocks.mono += MILLISECOND
        seen.append(stamps.shared)
    seen.append(stamps.shared)
    later = stamps.both()
    seen.append(stamps.shared)
    assert seen == [None, None, first, None, None]
    assert later == (clock.wall(), clock.mono())


def test_both_with_a_core_always_lost_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drift(Machine(*range(100)), monkeypatch) > 0
