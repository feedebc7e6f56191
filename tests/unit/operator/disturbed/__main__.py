"""Disturbs every call of every run and prints how many ended as they should, of how many.

    python -m tests.unit.operator.disturbed [--every N] [--only RUN] [--processes N]

Exits with 1 if a run ended differently; each such run is printed with the call and the difference.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from tests.unit.operator.disturbed.disturbances import KINDS
from tests.unit.operator.disturbed.memoized import memoized
from tests.unit.operator.disturbed.playing import Recording
from tests.unit.operator.disturbed.scenarios import BY_NAME, SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Sequence

Result = tuple[str, str, int, list[str]]
"""Run, kind, calls disturbed, and what was different."""

SHOWN = 20
"""Differences of a run and a kind that are printed at most."""


def disturb_run(name: str, every: int) -> list[Result]:
    """Disturb a run at each of its calls (or every so many of them) in every way."""
    logging.disable(logging.CRITICAL)
    results = []
    with memoized():
        recording = Recording.of(BY_NAME[name])
        for offset, kind in enumerate(KINDS):
            points = recording.points(kind)[offset % every :: every]
            wrong = []
            for number in points:
                differences = recording.disturb(number, kind)
                if differences:
                    call = recording.calls[number - 1]
                    wrong.append(f"{name}: {kind.name} at call {number}, {call}: {differences}")
            results.append((name, kind.name, len(points), wrong))
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each kind of disturbance: N of N."""
    parser = argparse.ArgumentParser(prog="python -m tests.unit.operator.disturbed")
    parser.add_argument("--every", type=int, default=1, help="disturb every N-th call only")
    parser.add_argument("--only", action="append", choices=sorted(BY_NAME), help="of these runs")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments)
    names = options.only or [scenario.name for scenario in SCENARIOS]
    with ProcessPoolExecutor(options.processes) as pool:
        done = pool.map(disturb_run, names, [options.every] * len(names))
        results = []
        for of_run in done:
            results += of_run
            name, calls = of_run[0][0], sum(count for _, _, count, _ in of_run)
            print(f"  {name}: {calls} runs", file=sys.stderr, flush=True)  # noqa: T201
            for _, _, _, wrong in of_run:
                for difference in wrong[:SHOWN]:
                    print(difference, file=sys.stderr, flush=True)  # noqa: T201
    return _report(results)


def _report(results: Sequence[Result]) -> int:
    total: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for _, kind, count, differences in results:
        total[kind] += count
        right[kind] += count - len(differences)
    for kind in [*total, ""]:
        of = f"{right[kind]} of {total[kind]}" if kind else f"{right.total()} of {total.total()}"
        print(f"{kind or 'together':<28} {of:>16} end the same")  # noqa: T201
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
