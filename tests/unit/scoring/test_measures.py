"""Durations, histograms, windows, recovery and the parts of a gap."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krt_contract.plan import Plan
from krt_contract.timeline import Event
from krt_scoring import durations
from krt_scoring.inputs.fault_windows import FaultWindow, fault_windows, part_of
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics import (
    breakdown,
    histogram,
    operations,
    recovery,
)
from krt_scoring.metrics.gaps import Gap

S = 1_000_000


def event(at: int, source: str, name: str, subject: str = "x", **detail: Any) -> Event:
    return Event(at, at, source, name, subject, detail)


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


@pytest.mark.parametrize(
    ("micros", "text"),
    [(7, "7 µs"), (12_400, "12.4 ms"), (7_320_000, "7.32 s"), (125 * S, "2 m 05 s")],
)
def test_durations_are_shown(micros: int, text: str) -> None:
    assert durations.show(micros) == text


@given(st.integers(0, 1 << 40))
def test_a_bin_holds_its_value_within_1_6_percent(value: int) -> None:
    edge = histogram.upper_edge(histogram.bin_of(value))
    assert value <= edge <= value + value // 64 + 1
    assert histogram.bin_of(edge) == histogram.bin_of(value)


@given(st.lists(st.integers(0, 10**8), min_size=1, max_size=300), st.integers(1, 3))
def test_percentiles_do_not_depend_on_how_the_counts_were_cut(
    values: list[int], parts: int
) -> None:
    whole = histogram.Histogram()
    pieces = [histogram.Histogram() for _ in range(parts)]
    for index, value in enumerate(values):
        for target in (whole, pieces[index % parts]):
            target.add(histogram.bin_of(value), 1, value)
    assert histogram.merge(pieces).as_dict() == whole.as_dict()
    exact = sorted(values)[-(-len(values) * 99 // 100) - 1]
    assert exact <= whole.percentile(99) <= exact + exact // 64 + 1


def test_parts_of_a_run() -> None:
    windows = (
        FaultWindow("a", injected_at=10, recovered_at=20),
        FaultWindow("b", injected_at=30, recovered_at=None),
    )
    assert [part_of(at, at, windows) for at in (9, 10, 20, 21, 30, 99)] == [
        "before",
        "during",
        "during",
        "after",
        "during",
        "during",
    ]
    assert part_of(5, 9, windows) == "before"
    # In flight when the fault struck; held up by it until after the recovery.
    assert part_of(5, 15, windows) == part_of(18, 25, windows) == part_of(5, 25, windows)
    assert part_of(5, 15, windows) == "during"
    assert part_of(5, 99, ()) == "before"


def test_windows_are_read_from_the_journal() -> None:
    targets = [{"uid": "u1", "member": "kafka-0"}]
    events = (
        event(5, "fault", "injected", "f", action="CrashPod", targets=targets, duration=7),
        event(5, "fault", "observed", "f", verified=True, observations=[{"kind": "PodDeleted"}]),
        event(8, "fault", "reverted", "f"),
        event(9, "fault", "recovered", "f"),
        event(1, "fault", "skipped", "g"),
    )
    first, second = fault_windows(Timeline(events))
    assert (first.injected_at, first.reverted_at, first.recovered_at) == (5, 8, 9)
    assert (first.verified, first.duration, first.members) == (True, 7, {"kafka-0"})
    assert second.skipped
    assert second.injected_at is None


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
def test_when_replica_sets_are_whole(events: list[Event], whole: int | None) -> None:
    assert recovery.wholes(Timeline(tuple(events)), RUN, (WINDOW,), 100) == [whole]


def test_a_pod_deleted_and_let_back_at_once_recovers_after_its_isr_shrank() -> None:
    window = FaultWindow("f", injected_at=10, reverted_at=10, recovered_at=30)
    events = (state(0, [0, 1, 2]), state(14, [1, 2]), state(22, [0, 1, 2]))
    assert recovery.wholes(Timeline(events), RUN, (window,), 100) == [22]


def test_recovery_lasts_until_the_lag_is_gone_and_has_a_lower_bound_without_an_end() -> None:
    (found,) = recovery.recoveries((WINDOW,), [25], {0: 28}, 100)
    assert (found.duration, found.complete) == (8, True)
    (never,) = recovery.recoveries((WINDOW,), [None], {}, 100)
    assert (never.duration, never.complete) == (80, False)


def test_a_gap_is_made_of_detect_elect_and_client() -> None:
    window = FaultWindow(
        "f", injected_at=100, recovered_at=900, targets=({"uid": "u", "member": "kafka-0"},)
    )
    gap = Gap("write", "", "foo", 0, 110, 190)
    line = Timeline(
        (
            state(0, [0, 1, 2], 0, 4),
            event(150, "broker", "unregistered", "1"),
            event(160, "broker", "unregistered", "0"),
            state(165, [1, 2], -1, 5),
            state(170, [1, 2], 1, 6),
        )
    )
    assert breakdown.fault_of(gap, (window,)) is window
    assert breakdown.parts(gap, window, line) == {"detect": 60, "elect": 10, "client": 20}


@pytest.mark.parametrize(
    ("stream", "seen_late"), [("process", True), ("zookeeper", True), ("pods", False)]
)
def test_a_session_whose_end_was_noted_late_is_no_part(stream: str, seen_late: bool) -> None:
    window = FaultWindow("f", injected_at=100, targets=({"uid": "u", "member": "kafka-0"},))
    line = Timeline(
        (
            state(0, [0, 1, 2], 0, 4),
            event(160, "broker", "unregistered", "0"),
            event(161, "recorder", "gap", "recorder", **{"stream": stream, "from": 110, "to": 155}),
            state(170, [1, 2], 1, 6),
        )
    )
    gap = Gap("write", "", "foo", 0, 110, 190)
    whole = {"detect": 60, "elect": 10, "client": 20}
    expected = {"elect": 70, "client": 20} if seen_late else whole
    assert breakdown.parts(gap, window, line) == expected


def test_what_was_over_before_the_gap_began_is_no_part_of_it() -> None:
    window = FaultWindow("f", injected_at=100, targets=({"uid": "u", "member": "kafka-0"},))
    line = Timeline(
        (
            state(0, [0, 1, 2], 0, 4),
            event(160, "broker", "unregistered", "0"),
            state(170, [1, 2], 1, 5),
        )
    )
    late = Gap("write", "", "foo", 0, 165, 190)
    assert breakdown.parts(late, window, line) == {"elect": 10, "client": 20}
    later = Gap("write", "", "foo", 0, 500, 590)
    assert breakdown.parts(later, window, line) == {"client": 90}


def test_a_readers_gap_holds_the_rebalance() -> None:
    window = FaultWindow(
        "f", injected_at=100, recovered_at=900, targets=({"uid": "u", "member": "kafka-0"},)
    )
    led = (
        state(0, [0, 1, 2], 0, 4),
        event(160, "broker", "unregistered", "0"),
        state(170, [1, 2], 1, 5),
    )
    gap = Gap("read", "g", "foo", 0, 110, 190)
    # What was assigned before the gap, or after it, is no part of it; of two the last counts.
    assigned = {("g", "foo", 0): [50, 172, 180, 400]}
    around = breakdown.Surroundings((window,), Timeline(led), assigned)
    parts = {"detect": 60, "elect": 10, "rebalance": 10, "client": 10}
    assert around.of(gap) == ("f", parts)
    assert sum(parts.values()) == gap.end - 100
    other = breakdown.Surroundings((window,), Timeline(led), {("h", "foo", 0): [180]})
    assert other.of(gap) == ("f", {"detect": 60, "elect": 10, "client": 20})
    sooner = breakdown.Surroundings((window,), Timeline(led), {("g", "foo", 0): [165]})
    assert sooner.of(gap) == ("f", {"detect": 60, "elect": 10, "client": 20})


def test_a_dead_consumers_gap_is_its_rebalance() -> None:
    targets = ({"uid": "u", "member": "consumer-c-0"},)
    window = FaultWindow("f", injected_at=100, recovered_at=900, targets=targets)
    gap = Gap("read", "g", "foo", 0, 98, 190)
    around = breakdown.Surroundings((window,), Timeline(()), {("g", "foo", 0): [150]})
    assert around.of(gap) == ("f", {"rebalance": 50, "client": 40})


def test_a_gap_is_named_by_the_fault_that_was_open_when_it_began() -> None:
    first, second = (FaultWindow(name, injected_at=at) for name, at in (("a", 100), ("b", 200)))
    assert breakdown.fault_of(Gap("read", "g", "foo", 0, 150, 300), (first, second)) is first
    assert breakdown.fault_of(Gap("read", "g", "foo", 0, 250, 300), (first, second)) is second
    assert breakdown.fault_of(Gap("read", "g", "foo", 0, 95, 300), (first, second)) is first


def test_a_gap_without_a_fault_has_no_parts_to_blame() -> None:
    window = FaultWindow("f", injected_at=500)
    assert breakdown.fault_of(Gap("write", "", "foo", 0, 1, 2), (window,)) is None


def test_traffic_is_established_for_the_last_part_of_the_warmup() -> None:
    phases = Timeline((event(100 * S, "phase", "entered", "Injecting"),))
    windows = (FaultWindow("f", injected_at=110 * S),)
    assert operations.steady_from(10 * S, 200 * S, phases, windows, 15 * S) == 85 * S
    assert operations.steady_from(90 * S, 200 * S, phases, windows, 15 * S) == 90 * S
    assert operations.steady_from(10 * S, 200 * S, Timeline(()), windows, 15 * S) == 60 * S
    assert operations.steady_from(10 * S, 20 * S, phases, (), 0) == 15 * S
