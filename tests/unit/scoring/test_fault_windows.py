"""When faults acted, and the parts of a run."""

from __future__ import annotations

from tests.unit.scoring.builders import event

from krt_scoring.inputs.fault_windows import FaultWindow, fault_windows, part_of
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics import span

S = 1_000_000


def test_part_of_an_operation_by_its_overlap_with_faults() -> None:
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


def test_fault_windows_reads_the_timeline() -> None:
    targets = [{"uid": "u1", "member": "kafka-0"}]
    events = (
        event(5, "fault", "injected", "f", action="CrashPod", targets=targets, duration=7),
        event(5, "fault", "observed", "f", verified=True, observations=[{"kind": "PodDeleted"}]),
        event(8, "fault", "reverted", "f"),
        event(9, "fault", "recovered", "f"),
        event(1, "fault", "skipped", "g"),
    )
    first, second = fault_windows(events)
    assert (first.injected_at, first.reverted_at, first.recovered_at) == (5, 8, 9)
    assert (first.verified, first.duration, first.members) == (True, 7, {"kafka-0"})
    assert second.skipped
    assert second.injected_at is None


def test_steady_from_starts_with_the_last_part_of_the_warmup() -> None:
    phases = Timeline((event(100 * S, "phase", "entered", "Injecting"),))
    windows = (FaultWindow("f", injected_at=110 * S),)
    assert span.steady_from(10 * S, 200 * S, phases, windows, 15 * S) == 85 * S
    assert span.steady_from(90 * S, 200 * S, phases, windows, 15 * S) == 90 * S
    assert span.steady_from(10 * S, 200 * S, Timeline(()), windows, 15 * S) == 60 * S
    assert span.steady_from(10 * S, 20 * S, phases, (), 0) == 15 * S
