"""The breakdown of gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.scoring.builders import SECOND, event

from krt_scoring.inputs.fault_windows import FaultWindow
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics import breakdown
from krt_scoring.metrics.gaps import Gap

if TYPE_CHECKING:
    from krt_contract.timeline import Event


def state(at: int, isr: list[int], leader: int = 0, epoch: int = 0) -> Event:
    return event(at, "partition", "state", "foo-0", isr=isr, leader=leader, leader_epoch=epoch)


def test_break_down_of_a_write_gap_has_detect_elect_and_client() -> None:
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
    assert breakdown.break_down(gap, window, line) == {"detect": 60, "elect": 10, "client": 20}


def test_fault_of_a_gap_takes_the_fault_just_after_the_last_success() -> None:
    """An earlier fault is open still; what ended all success was the later one."""
    earlier = FaultWindow("earlier", injected_at=1_000_000, recovered_at=90_000_000)
    later = FaultWindow("later", injected_at=5_020_000, recovered_at=20_000_000)
    gap = Gap("write", "", "foo", 0, 5_000_000, 12_000_000)
    assert breakdown.fault_of(gap, (earlier, later)) is later
    before = Gap("write", "", "foo", 0, 4_000_000, 12_000_000)
    assert breakdown.fault_of(before, (earlier, later)) is earlier


@pytest.mark.parametrize(
    ("stream", "seen_late"), [("process", True), ("zookeeper", True), ("pods", False)]
)
def test_break_down_with_a_late_session_end_leaves_detect_out(stream: str, seen_late: bool) -> None:
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
    assert breakdown.break_down(gap, window, line) == expected


def test_break_down_leaves_out_what_ended_before_the_gap() -> None:
    window = FaultWindow("f", injected_at=100, targets=({"uid": "u", "member": "kafka-0"},))
    line = Timeline(
        (
            state(0, [0, 1, 2], 0, 4),
            event(160, "broker", "unregistered", "0"),
            state(170, [1, 2], 1, 5),
        )
    )
    late = Gap("write", "", "foo", 0, 165, 190)
    assert breakdown.break_down(late, window, line) == {"elect": 10, "client": 20}
    later = Gap("write", "", "foo", 0, 500, 590)
    assert breakdown.break_down(later, window, line) == {"client": 90}


def test_explain_a_read_gap_has_the_rebalance() -> None:
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
    context = breakdown.GapContext((window,), Timeline(led), assigned)
    parts = {"detect": 60, "elect": 10, "rebalance": 10, "client": 10}
    assert context.explain(gap) == ("f", parts)
    assert sum(parts.values()) == gap.end - 100
    other = breakdown.GapContext((window,), Timeline(led), {("h", "foo", 0): [180]})
    assert other.explain(gap) == ("f", {"detect": 60, "elect": 10, "client": 20})
    sooner = breakdown.GapContext((window,), Timeline(led), {("g", "foo", 0): [165]})
    assert sooner.explain(gap) == ("f", {"detect": 60, "elect": 10, "client": 20})


def test_explain_a_dead_consumers_gap_is_its_rebalance() -> None:
    targets = ({"uid": "u", "member": "consumer-c-0"},)
    window = FaultWindow("f", injected_at=100, recovered_at=900, targets=targets)
    gap = Gap("read", "g", "foo", 0, 98, 190)
    context = breakdown.GapContext((window,), Timeline(()), {("g", "foo", 0): [150]})
    assert context.explain(gap) == ("f", {"rebalance": 50, "client": 40})


def test_fault_of_a_gap_is_the_fault_open_at_its_start() -> None:
    first, second = (
        FaultWindow(name, injected_at=at * SECOND) for name, at in (("a", 100), ("b", 200))
    )
    for start, fault in ((150, first), (250, second), (95, first)):
        gap = Gap("read", "g", "foo", 0, start * SECOND, 300 * SECOND)
        assert breakdown.fault_of(gap, (first, second)) is fault


def test_fault_of_a_gap_before_any_fault_is_none() -> None:
    window = FaultWindow("f", injected_at=500)
    assert breakdown.fault_of(Gap("write", "", "foo", 0, 1, 2), (window,)) is None
