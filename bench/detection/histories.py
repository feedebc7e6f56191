"""Generated histories: a partition served in order, on a machine that pauses, with one outage.

Operations are due at a steady rate with jitter. The server takes an exponential time for each; in
a pause of the machine, and in the outage, it answers nothing, and then what queued up, in order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from bench.detection.definition import Operation

SECOND = 1_000_000
"""µs."""

STEADY, AFTER = 15 * SECOND, 10 * SECOND
"""µs before and after the outage: the shortest warm-up of the scenarios, and time to catch up."""

STEP = 30_000
"""µs between operations of a partition: a producer of 100 records a second, three partitions."""


@dataclass(frozen=True, slots=True)
class Load:
    """The steady state; durations in µs.

    Attributes:
        service: mean time that an operation takes.
        delay: what each operation takes besides, during which others are served.
        pause: mean length of the machine's pauses; none where 0.
        every: mean time between pauses.
    """

    service: int
    delay: int = 0
    pause: int = 0
    every: int = SECOND


LOADS = {
    "idle": Load(3_000),
    "pauses of 100 ms": Load(3_000, pause=100_000, every=2 * SECOND),
    "pauses of 400 ms": Load(6_000, pause=400_000, every=3 * SECOND),
    "near saturation": Load(28_000),
    "1 s in the pipeline": Load(3_000, delay=SECOND),
    "3 s in the pipeline, pauses of 100 ms": Load(
        3_000, delay=3 * SECOND, pause=100_000, every=2 * SECOND
    ),
}
"""Name → load. In the last three, latencies say little about the shortest gap that can be seen."""


@dataclass(frozen=True, slots=True)
class History:
    """A partition's operations, and when nothing was answered.

    Attributes:
        operations: in order of their schedule.
        outage: from when until when, µs; no pause overlaps it.
    """

    operations: tuple[Operation, ...]
    outage: tuple[int, int]


def generate(load: Load, length: int, seed: int) -> History:
    """Return a history with an outage of ``length`` µs."""
    dice = random.Random(seed)  # noqa: S311 (a simulation)
    begin = STEADY + dice.randrange(SECOND)
    end = begin + length
    stops = sorted([*_pauses(load, dice, begin), (begin, end)])
    free, operations = 0, list[Operation]()
    for number in range((end + AFTER) // STEP):
        due = number * STEP + dice.randrange(STEP // 2)
        served = max(due, free) + round(dice.expovariate(1 / load.service))
        for since, until in stops:
            if since <= served < until:
                served = until + round(dice.expovariate(1 / load.service))
        free = served
        operations.append(Operation(due, served))
    delayed = tuple(Operation(item.due, item.ended + load.delay) for item in operations)
    return History(delayed, (begin + load.delay, end + load.delay))


def _pauses(load: Load, dice: random.Random, until: int) -> list[tuple[int, int]]:
    found, at = list[tuple[int, int]](), 0
    while load.pause:
        at += round(dice.expovariate(1 / load.every))
        length = round(dice.expovariate(1 / load.pause))
        # None touches the outage, whose length has to be known.
        if at + length >= until - SECOND:
            break
        found.append((at, at + length))
        at += length
    return found
