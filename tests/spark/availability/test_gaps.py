"""Gaps measured by Spark against their definition, done by hand in plain Python."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from krt_scoring.history.positions import Positions
from krt_scoring.inputs.fault_windows import FaultWindow
from krt_scoring.metrics import gaps
from krt_scoring.metrics.operations import WRITES, Lanes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "lane int, tp long, due long, done long"
LIMIT = 30_000
STEP = 2_000
END = 60_000_000
BLOCKS = (3, 64)
"""Slots to a block: in one whose time is that of a gap, and in one that holds several."""

Op = tuple[int, int | None]


def rows(topic: str, ops: list[Op]) -> list[tuple[Any, ...]]:
    return [(topic, due, done) for due, done in ops]


def find(
    spark: SparkSession, table: list[tuple[Any, ...]], windows: tuple[FaultWindow, ...] = ()
) -> tuple[dict[str, list[gaps.Gap]], list[gaps.PartitionOperations]]:
    positions = Positions(tuple(sorted({row[0] for row in table})))
    shuffled = random.Random(7).sample(table, len(table))  # noqa: S311 (order, not secrecy)
    numbered = [(WRITES, positions.tp(topic, 0), due, done) for topic, due, done in shuffled]
    frame, named = spark.createDataFrame(numbered, SCHEMA), Lanes((), positions)
    limits = {("write", ""): LIMIT}
    found, measured = gaps.find(gaps.timed(frame, named, limits), named, END, windows)
    for block in BLOCKS:
        timed = gaps.timed(frame, named, limits, block=block)
        assert gaps.find(timed, named, END, windows) == (found, measured)
    by_topic: dict[str, list[gaps.Gap]] = {}
    for gap in found:
        by_topic.setdefault(gap.topic, []).append(gap)
    return by_topic, measured


def by_definition(ops: list[Op]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for index, (due, done) in enumerate(sorted(ops)):
        if done is not None and done - due <= LIMIT:
            continue
        later = [d for _, d in sorted(ops)[index:] if d is not None]
        end = min(later, default=END)
        if end - due >= LIMIT and (not found or due >= found[-1][1]):
            found.append((due, end))
    return found


def steady(count: int = 1_000, latency: int = 4_000) -> list[Op]:
    return [(index * STEP, index * STEP + latency) for index in range(count)]


def stalled(ops: list[Op], begin: int, end: int) -> list[Op]:
    """Nothing is done from begin until end; then all that waited is."""
    return [
        (due, end + 500 if done is not None and begin <= done < end else done) for due, done in ops
    ]


CASES: dict[str, tuple[list[Op], list[tuple[int, int]]]] = {
    "steady": (steady(), []),
    "one-slow": ([*steady(), (100_001, 400_000)], []),
    "stall": (stalled(steady(), 500_000, 900_000), [(496_000, 900_500)]),
    "two-stalls": (
        stalled(stalled(steady(), 500_000, 600_000), 900_000, 1_000_000),
        [(496_000, 600_500), (896_000, 1_000_500)],
    ),
    "shorter-than-limit": (stalled(steady(), 500_000, 520_000), []),
    "never-again": (
        [(due, None if due >= 1_000_000 else done) for due, done in steady()],
        [(1_000_000, END)],
    ),
    "nothing-succeeds": ([(due, None) for due, _ in steady(50)], [(0, END)]),
    "failed-sends": (
        [(due, None if 500_000 <= due < 700_000 else done) for due, done in steady()],
        [(500_000, 704_000)],
    ),
    # A slow operation, then one in time, then the stall: it begins behind the one in time.
    "slow-before-stall": (
        stalled(
            [(due, due + 40_000 if due == 482_000 else done) for due, done in steady()],
            500_000,
            900_000,
        ),
        [(496_000, 900_500)],
    ),
    # The same, and many were due at one instant: the first of them that is done ends the gap.
    "due-together": (
        [
            *stalled(
                [(due, due + 40_000 if due == 482_000 else done) for due, done in steady()],
                492_000,
                900_000,
            ),
            *[(494_000, 600_000 + 10_000 * number) for number in range(20)],
        ],
        [(488_000, 600_000), (600_000, 900_500)],
    ),
}


def test_find_of_gaps_by_hand(spark: SparkSession) -> None:
    table = [row for name, (ops, _) in CASES.items() for row in rows(name, ops)]
    found, measured = find(spark, table)
    for name, (ops, wanted) in CASES.items():
        told = [(gap.start, gap.end) for gap in found.get(name, [])]
        assert len(told) == len(wanted), (name, told)
        for (start, end), (first, last) in zip(told, wanted, strict=True):
            assert abs(start - first) <= STEP, (name, told)
            assert abs(end - last) <= STEP, (name, told)
        assert (name, len(ops)) in [(item.topic, item.scheduled) for item in measured]
    assert {gap.topic for row in found.values() for gap in row if gap.open_end} == {
        "never-again",
        "nothing-succeeds",
    }


def random_history(seed: int) -> list[Op]:
    """A queue served in order, with stalls and a few slow operations that others overtake."""
    dice = random.Random(seed)  # noqa: S311 (a simulation)
    stalls = sorted((dice.randrange(2_000_000), dice.randrange(200_000)) for _ in range(3))
    free, ops = 0, list[Op]()
    for index in range(1_000):
        due = index * STEP
        start = max(due, free)
        for begin, length in stalls:
            if begin <= start < begin + length:
                start = begin + length
        free = start + dice.randrange(100, 1_500)
        ops.append((due, start + dice.randrange(1_000, 8_000)))
    for _ in range(5):
        index = dice.randrange(1_000)
        due, done = ops[index]
        ops[index] = (due, (done or due) + 60_000)
    return ops


def test_find_of_random_histories_follows_the_definition(spark: SparkSession) -> None:
    histories = {f"h{seed}": random_history(seed) for seed in range(40)}
    found, _ = find(spark, [row for name, ops in histories.items() for row in rows(name, ops)])
    total = 0
    for name, ops in histories.items():
        wanted = by_definition(ops)
        told = [(gap.start, gap.end) for gap in found.get(name, [])]
        for start, end in wanted:
            # What is not told, or told from the next slot on, is shorter than 1.5 thresholds or
            # follows another gap at once.
            near = [gap for gap in told if abs(gap[0] - start) <= LIMIT // 2]
            follows = any(0 <= start - last <= LIMIT // 2 for _, last in wanted)
            assert near or end - start < LIMIT * 3 // 2 or follows, (name, told, wanted)
            if near and not follows:
                assert abs(near[0][0] - start) <= STEP, (name, told, wanted)
                assert abs(near[0][1] - end) <= LIMIT // 2, (name, told, wanted)
                total += 1
        for start, end in told:
            inside = [1 for first, last in wanted if first - STEP <= start <= last]
            assert inside, (name, told, wanted)
            assert end - start >= LIMIT
    assert total > 40


def stalled_history(seed: int) -> tuple[int, int, list[Op]]:
    """Return a rate, the length of a stall and what was due: nothing is answered during it."""
    dice = random.Random(seed)  # noqa: S311 (a simulation)
    step = dice.randrange(200, 5_000)
    latency = dice.randrange(1, step)
    begin = dice.randrange(200_000, 400_000)
    length = dice.randrange(LIMIT * 3 // 2, 700_000)
    ops: list[Op] = []
    for due in range(dice.randrange(step), 1_500_000, step):
        answered = due + latency
        ops.append((due, begin + length if begin <= answered < begin + length else answered))
    return step, length, ops


def test_find_of_a_stall_is_exact_to_one_inter_arrival_time(spark: SparkSession) -> None:
    histories = {f"h{seed}": stalled_history(seed) for seed in range(60)}
    table = [row for name, (_, _, ops) in histories.items() for row in rows(name, ops)]
    found, _ = find(spark, table)
    for name, (step, length, _) in histories.items():
        (gap,) = found[name]
        assert abs(gap.duration - length) <= step, (name, gap, step, length)


def test_find_counts_operations_done_during_faults(spark: SparkSession) -> None:
    window = FaultWindow("f", injected_at=500_000, recovered_at=699_999)
    _, (measured,) = find(spark, rows("t", stalled(steady(), 500_000, 600_000)), (window,))
    assert (measured.scheduled, measured.during_faults) == (1_000, 100)


def test_find_without_threshold_or_partition_measures_nothing(spark: SparkSession) -> None:
    named = Lanes((), Positions(("t",)))
    nowhere = spark.createDataFrame([(WRITES, None, 0, None)], SCHEMA)
    for limits in ({}, {("write", ""): LIMIT}):
        for block in (1, *BLOCKS):
            timed = gaps.timed(nowhere, named, limits, block=block)
            assert gaps.find(timed, named, END, ()) == ([], [])


@pytest.mark.parametrize(("count", "known"), [(99, {}), (100, {("write", ""): 3_000})])
def test_thresholds_need_steady_operations(count: int, known: dict[tuple[str, str], int]) -> None:
    assert gaps.thresholds({("write", ""): (count, 1_000)}) == known
