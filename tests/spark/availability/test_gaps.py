"""Waits and gaps found by Spark against their definition, followed operation by operation."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from bench.detection.definition import Operation, find_gaps, find_waits
from bench.detection.histories import LOADS, STEP, generate
from krt_scoring.history.positions import Positions
from krt_scoring.inputs.fault_windows import FaultWindow
from krt_scoring.metrics import gaps
from krt_scoring.metrics.histogram import Histogram, bin_of
from krt_scoring.metrics.operations import WRITES, Lanes
from krt_scoring.metrics.waits import SLOT_MICROS, waits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "lane int, tp long, due long, done long, ended long"
KIND = ("write", "")
LIMIT = 300_000
MS = 1_000
NO_FAULT: tuple[FaultWindow, ...] = ()

History = list[Operation]


def frame(
    spark: SparkSession,
    histories: dict[str, History],
    *,
    steady: int = 0,
    windows: Sequence[FaultWindow] = NO_FAULT,
) -> tuple[DataFrame, Lanes]:
    """Return the waits of topics with one partition each, their operations out of order."""
    positions = Positions(tuple(sorted(histories)))
    rows = [
        (
            WRITES,
            positions.tp(topic, 0),
            item.due,
            item.ended if item.succeeded else None,
            item.ended,
        )
        for topic, operations in histories.items()
        for item in operations
    ]
    shuffled = random.Random(7).sample(rows, len(rows))  # noqa: S311 (order, not secrecy)
    return waits(spark.createDataFrame(shuffled, SCHEMA), steady, windows), Lanes((), positions)


def find(spark: SparkSession, histories: dict[str, History]) -> dict[str, list[gaps.Gap]]:
    found, named = frame(spark, histories)
    by_topic: dict[str, list[gaps.Gap]] = {topic: [] for topic in histories}
    for gap in gaps.find(found, named, {KIND: LIMIT}):
        by_topic[gap.topic].append(gap)
    return by_topic


def steady(count: int = 500, latency: int = 4 * MS, step: int = 20 * MS) -> History:
    return [Operation(number * step, number * step + latency) for number in range(count)]


def stalled(operations: History, begin: int, end: int) -> History:
    """Nothing is answered from begin until end; then all that waited is."""
    return [
        Operation(item.due, end + MS // 2 if begin <= item.ended < end else item.ended)
        for item in operations
    ]


def failed(operations: History, begin: int, end: int) -> History:
    """What was due from begin until end is given up at once."""
    return [
        Operation(item.due, item.due + MS, succeeded=False) if begin <= item.due < end else item
        for item in operations
    ]


CASES: dict[str, tuple[History, list[tuple[int, int]]]] = {
    "steady": (steady(), []),
    "one-slow": (sorted([*steady(), Operation(1_000_001, 4_000_000)]), []),
    # The success before it was at 4984 ms, and 5000 ms was due then: nothing was outstanding.
    "stall": (stalled(steady(), 5_000 * MS, 9_000 * MS), [(5_000 * MS, 9_000 * MS + 500)]),
    # With 3 s under way all along, the gap is as long, not 3 s longer.
    "stall-of-a-queue": (
        stalled(steady(latency=3_000 * MS), 5_000 * MS, 9_000 * MS),
        [(0, 3_000 * MS), (4_980 * MS, 9_000 * MS)],
    ),
    "two-stalls": (
        stalled(stalled(steady(), 3_000 * MS, 4_000 * MS), 4_010 * MS, 5_000 * MS),
        [(3_000 * MS, 4_000 * MS + 500), (4_000 * MS + 500, 5_000 * MS + 500)],
    ),
    "shorter-than-the-limit": (stalled(steady(), 5_000 * MS, 5_200 * MS), []),
    "never-again": (failed(steady(), 5_000 * MS, 99_000 * MS), [(5_000 * MS, 9_981 * MS)]),
    "nothing-succeeds": (failed(steady(), 0, 99_000 * MS), [(0, 9_981 * MS)]),
    "failures": (failed(steady(), 5_000 * MS, 7_000 * MS), [(5_000 * MS, 7_004 * MS)]),
    # Nothing was due for two seconds: that is no outage.
    "nothing-due": ([item for item in steady() if not 4 <= item.due // 1_000_000 < 6], []),
    "slow-before-a-stall": (
        [
            Operation(item.due, item.ended + 40 * MS if item.due == 4_820 * MS else item.ended)
            for item in stalled(steady(), 5_000 * MS, 9_000 * MS)
        ],
        [(5_000 * MS, 9_000 * MS + 500)],
    ),
}


def test_find_gaps_in_histories_by_hand(spark: SparkSession) -> None:
    found = find(spark, {name: operations for name, (operations, _) in CASES.items()})
    for name, (operations, expected) in CASES.items():
        measured = [(gap.start, gap.end) for gap in found[name]]
        assert len(measured) == len(expected), (name, measured)
        for (start, end), (first, last) in zip(measured, expected, strict=True):
            assert abs(start - first) <= 20 * MS, (name, measured)
            assert end == last or abs(end - last) <= 20 * MS, (name, measured)
        assert len(find_gaps(operations, LIMIT)) == len(expected), name
    assert {name for name, row in found.items() for gap in row if gap.open_end} == {
        "never-again",
        "nothing-succeeds",
    }


def random_history(seed: int) -> History:
    """Several servers, stalls of all, a few slow operations and a few that fail; silences too."""
    dice = random.Random(seed)  # noqa: S311 (a simulation)
    stalls = sorted((dice.randrange(8_000_000), dice.randrange(1_500_000)) for _ in range(3))
    silent = dice.randrange(8_000_000)
    operations = History()
    delay = dice.choice((0, 0, 2_000_000))
    for index in range(800):
        due = index * 10_000 + dice.randrange(9_000)
        if silent <= due < silent + 500_000:
            continue
        served = due + dice.randrange(1_000, 60_000)
        for begin, length in stalls:
            if begin <= served < begin + length:
                served = begin + length + dice.randrange(2_000)
        slow = dice.randrange(600_000) if dice.randrange(100) == 0 else 0
        operations.append(Operation(due, served + delay + slow, dice.randrange(50) > 0))
    return operations


def test_find_gaps_in_random_histories_follows_the_definition(spark: SparkSession) -> None:
    histories = {f"h{seed}": random_history(seed) for seed in range(40)}
    found = find(spark, histories)
    total = 0
    for name, operations in histories.items():
        expected = find_gaps(operations, LIMIT)
        measured = [(gap.start, gap.end) for gap in found[name]]
        # Within a slot it is not known what was due when, so a start may be early by a slot.
        clear = [span for span in expected if span[1] - span[0] >= LIMIT + SLOT_MICROS]
        assert [end for _, end in clear] == [
            end for _, end in measured if end in {last for _, last in clear}
        ], (name, measured, expected)
        for start, end in measured:
            (wait,) = [first for first, last in find_waits(operations) if last == end]
            assert 0 <= wait - start <= SLOT_MICROS, (name, measured, expected)
        total += len(clear)
    assert total > 40


@pytest.mark.parametrize("load", sorted(LOADS))
def test_find_gaps_measures_an_outage_whatever_queues_before_it(
    spark: SparkSession, load: str
) -> None:
    planted = {f"h{seed}": generate(LOADS[load], 5_000_000, seed) for seed in range(10)}
    found = find(spark, {name: list(item.operations) for name, item in planted.items()})
    for name, item in planted.items():
        begin, end = item.outage
        (gap,) = [gap for gap in found[name] if gap.start <= begin + 2 * STEP and gap.end >= end]
        # The time between two successes before it, and between two behind it.
        around = [operation.ended for operation in item.operations]
        before = max(at for at in around if at < begin)
        after = min(at for at in around if at >= end)
        assert abs(gap.duration - 5_000_000) <= max(begin - before, 2 * STEP) + (after - end)


def test_waits_before_the_steady_state_are_left_out(spark: SparkSession) -> None:
    operations = stalled(stalled(steady(), 1_000 * MS, 2_000 * MS), 5_000 * MS, 6_000 * MS)
    found, named = frame(spark, {"t": operations}, steady=1_500 * MS)
    rows = gaps.find(found, named, {KIND: LIMIT})
    # Of the stall that lasts into the steady state, what lies in it.
    assert [(gap.start, gap.end) for gap in rows] == [
        (1_500 * MS, 2_000 * MS + 500),
        (5_000 * MS, 6_000 * MS + 500),
    ]
    _, (measured,) = gaps.survey(found, named, NO_FAULT)
    assert measured.scheduled == 500 - 75


def test_survey_measures_the_limit_before_the_faults_and_counts_during_them(
    spark: SparkSession,
) -> None:
    window = FaultWindow("f", injected_at=5_000 * MS, recovered_at=6_999 * MS)
    operations = stalled(steady(), 5_100 * MS, 6_000 * MS)
    found, named = frame(spark, {"t": operations}, windows=(window,))
    limits, (measured,) = gaps.survey(found, named, (window,))
    assert limits == {KIND: gaps.LEAST_LIMIT}
    assert (measured.scheduled, measured.during_faults) == (500, 100)


def test_survey_after_a_pause_of_the_machine_keeps_the_limit(spark: SparkSession) -> None:
    operations = stalled(steady(1_500), 2_000 * MS, 2_500 * MS)
    found, named = frame(spark, {"t": operations})
    # Of the latencies two in a hundred are above 100 ms: what was due in the pause queued behind
    # it. But it is one wait among hundreds.
    assert sum(item.ended - item.due > 100 * MS for item in operations) > len(operations) // 100
    assert gaps.survey(found, named, NO_FAULT)[0] == {KIND: gaps.LEAST_LIMIT}


def test_survey_without_a_partition_or_steady_waits_measures_nothing(spark: SparkSession) -> None:
    named = Lanes((), Positions(("t",)))
    nowhere = spark.createDataFrame([(WRITES, None, 0, None, 0)], SCHEMA)
    assert gaps.survey(waits(nowhere, 0, NO_FAULT), named, NO_FAULT) == ({}, [])
    few, named = frame(spark, {"t": steady(gaps.MIN_WAITS - 1, step=SLOT_MICROS)})
    assert gaps.survey(few, named, NO_FAULT) == ({}, [])
    assert gaps.find(few, named, {}) == []


def histogram(*values: int) -> Histogram:
    found = Histogram()
    for value in values:
        found.add(bin_of(value), 1, value)
    return found


@pytest.mark.parametrize(
    ("steady_waits", "limits"),
    [
        (histogram(*[200 * MS] * (gaps.MIN_WAITS - 1)), {}),
        # Waits that are all alike: two in a row are no gap.
        (histogram(*[200 * MS] * gaps.MIN_WAITS), {KIND: 400 * MS}),
        # And such that are not.
        (histogram(*[100 * MS] * 90, *[400 * MS] * 10), {KIND: 999_298}),
        (histogram(*[MS] * gaps.MIN_WAITS), {KIND: gaps.LEAST_LIMIT}),
        # One pause of 10 s among 200 waits does not hide an outage of one second.
        (histogram(*[200 * MS] * 199, 10_000 * MS), {KIND: 401_406}),
    ],
)
def test_detection_limits_are_far_above_the_waits_of_the_steady_state(
    steady_waits: Histogram, limits: dict[tuple[str, str], int]
) -> None:
    assert gaps.detection_limits({KIND: steady_waits}) == limits
