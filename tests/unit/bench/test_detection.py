"""Waits by their definition, and the outages that the detection limit lets through."""

from __future__ import annotations

import pytest

from bench.detection.__main__ import detect
from bench.detection.definition import Operation, find_gaps, find_waits
from bench.detection.histories import LOADS, SECOND, STEP, generate

FAILED = Operation(40, 45, succeeded=False)


@pytest.mark.parametrize(
    ("operations", "waits"),
    [
        # Nothing outstanding between them: the second wait begins when the next is due.
        ([Operation(0, 3), Operation(10, 13)], [(0, 3), (10, 13)]),
        # A queue: 10 was due before the success at 13, so the wait goes on from there.
        ([Operation(0, 13), Operation(10, 23)], [(0, 13), (13, 23)]),
        # A slow operation among others is no wait of its own.
        ([Operation(0, 30), Operation(10, 12), Operation(20, 22)], [(0, 12), (12, 22), (22, 30)]),
        (
            [Operation(0, 3), Operation(10, 12, succeeded=False), Operation(20, 23)],
            [(0, 3), (10, 23)],
        ),
        # Nothing succeeds any more.
        ([Operation(0, 3), FAILED], [(0, 3), (40, 45)]),
        ([FAILED], [(40, 45)]),
    ],
)
def test_find_waits_by_hand(operations: list[Operation], waits: list[tuple[int, int]]) -> None:
    assert list(find_waits(operations)) == waits


def test_find_gaps_leaves_shorter_waits_out() -> None:
    assert find_gaps([Operation(0, 3), Operation(10, 19)], 9) == [(10, 19)]


@pytest.mark.parametrize("load", sorted(LOADS))
def test_generate_answers_nothing_in_the_outage(load: str) -> None:
    history = generate(LOADS[load], SECOND, seed=1)
    begin, end = history.outage
    assert end - begin == SECOND
    assert not [item for item in history.operations if begin < item.ended < end]


@pytest.mark.parametrize("load", sorted(LOADS))
def test_detect_sees_an_outage_of_a_session_to_an_inter_arrival_time(load: str) -> None:
    for seed in range(5):
        seen = detect(LOADS[load], 6 * SECOND, seed)
        assert seen.measured is not None
        assert seen.error <= max(2 * STEP, 2 * seen.interval)


def test_detect_behind_a_long_pipeline_does_not_depend_on_latency() -> None:
    """Latencies of 3 s would hide everything below 9 s."""
    seen = detect(LOADS["3 s in the pipeline, pauses of 100 ms"], 2 * SECOND, 3)
    assert seen.by_latency > 9 * SECOND
    assert seen.measured is not None
    assert seen.limit < SECOND
