"""Which outages are seen, and how exactly they are measured, in generated histories.

Every history has one outage of known length (``histories``). It is *seen* where a gap covers it,
with the detection limit that the steady state of the same history gives. The limit that latencies
would give, three times their 99th percentile, is printed beside it.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass
from itertools import pairwise

from bench.detection.definition import Operation, find_gaps, find_waits
from bench.detection.histories import LOADS, SECOND, STEP, History, Load, generate
from krt_scoring.metrics.gaps import detection_limits
from krt_scoring.metrics.histogram import Histogram, bin_of
from krt_scoring.metrics.waits import SLOT_MICROS

LENGTHS_MS = (100, 200, 500, 1_000, 2_000, 6_000, 10_000)
"""Lengths of the outages, ms; 6 s is the ZooKeeper session timeout of the scenarios."""

KIND = ("write", "")


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found of the outage of one history; µs.

    Attributes:
        limit: detection limit by waits.
        by_latency: three times the 99th percentile of the latencies.
        measured: length of the gap that covers the outage; None where it was not seen.
        error: by how much it is wrong; 0 where it was not seen.
        interval: 99th percentile of the times between two successes of the steady state.
    """

    limit: int
    by_latency: int
    measured: int | None
    error: int
    interval: int


def histogram_of(values: list[int]) -> Histogram:
    """Return durations in µs as the scorer counts them."""
    found = Histogram()
    for value in values:
        found.add(bin_of(value), 1, value)
    return found


def steady_waits(history: History) -> list[int]:
    """Return the waits of the steady state as the scorer sees them: one for each slot."""
    steady = [item for item in history.operations if item.ended < history.outage[0]]
    found: dict[int, int] = {}
    for start, end in find_waits(steady):
        found.setdefault(end // SLOT_MICROS, end - start)
    return list(found.values())


def detect(load: Load, length: int, seed: int) -> Seen:
    """Plant an outage of ``length`` µs and look for it."""
    history = generate(load, length, seed)
    begin, end = history.outage
    limit = detection_limits({KIND: histogram_of(steady_waits(history))})[KIND]
    steady: list[Operation] = [item for item in history.operations if item.ended < begin]
    by_latency = 3 * histogram_of([item.ended - item.due for item in steady]).percentile(99)
    covering = [
        until - since
        for since, until in find_gaps(history.operations, limit)
        if since <= begin + 2 * STEP and until >= end
    ]
    measured = max(covering, default=None)
    error = 0 if measured is None else abs(measured - length)
    successes = sorted(item.ended for item in steady)
    intervals = [after - before for before, after in pairwise(successes)]
    return Seen(limit, by_latency, measured, error, histogram_of(intervals).percentile(99))


def main() -> None:
    """Print a table for each load."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50, help="histories of each kind")
    options = parser.parse_args()
    lengths = " | ".join(f"{length} ms" for length in LENGTHS_MS)
    print(f"| steady state | limit | by latency | {lengths} | largest error | between successes |")
    print("| --- " * (len(LENGTHS_MS) + 5) + "|")
    for name, load in LOADS.items():
        found = {
            length: [detect(load, length * SECOND // 1_000, seed) for seed in range(options.seeds)]
            for length in LENGTHS_MS
        }
        print(row(name, found))


def row(name: str, found: dict[int, list[Seen]]) -> str:
    """Return the table's row of a load: limits, shares seen, and errors in ms."""
    every = [item for items in found.values() for item in items]
    cells = [
        name,
        f"{median(every, 'limit')} ms",
        f"{median(every, 'by_latency')} ms",
        *(
            f"{100 * sum(i.measured is not None for i in items) // len(items)} %"
            for items in found.values()
        ),
        f"{max(item.error for item in every) // 1_000} ms",
        f"{median(every, 'interval')} ms",
    ]
    return f"| {' | '.join(cells)} |"


def median(items: list[Seen], name: str) -> int:
    """Return the median of a duration in ms."""
    values: list[int] = [getattr(item, name) for item in items]
    return round(statistics.median(values) / 1_000)


if __name__ == "__main__":
    main()
