"""Prints the load of runs on the API server, and the controller's memory over many of them.

python -m tests.unit.operator.load [--tests 1000]
"""

from __future__ import annotations

import argparse
import gc
import logging
import resource
import sys
import tracemalloc
from typing import TYPE_CHECKING

from tests.unit.operator.disturbed.scenarios import SCENARIOS, SHORT
from tests.unit.operator.doubles.kubelets import TEST
from tests.unit.operator.doubles.world import World
from tests.unit.operator.load.calls import count_calls

from krt_operator.app.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

STEPS = 10


def print_calls() -> None:
    """Print the calls of every run of the double."""
    print(f"{'run':<20}{'calls':>7}{'passes':>8}{'busiest minute':>16}  busiest phase")  # noqa: T201
    for scenario in SCENARIOS:
        if scenario.name == "delete the test":
            continue
        calls = count_calls(scenario)
        ((phase, made),) = calls.phases.most_common(1)
        numbers = f"{calls.total:>7}{calls.passes:>8}{calls.most:>16}"
        print(f"{scenario.name:<20}{numbers}  {phase} {made}")  # noqa: T201


def print_memory(tests: int) -> None:
    """Print what is allocated after so many finished tests, each with a uid of its own."""
    metrics = Metrics()
    tracemalloc.start()
    for number in range(1, tests + 1):
        world = World(**SHORT)
        world.metrics = metrics
        world.objects.clear()
        world.acting = f"uid-{number}-of-many"
        world.add_test(TEST, world.acting, **SHORT)
        assert world.run()["phase"] == "Completed"
        if number % max(1, tests // STEPS) == 0:
            del world
            gc.collect()
            kib = tracemalloc.get_traced_memory()[0] // 1024
            rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{number:>6} tests: {kib} KiB allocated, {rss} MiB RSS at most", flush=True)  # noqa: T201


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both."""
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser(prog="python -m tests.unit.operator.load")
    parser.add_argument("--tests", type=int, default=1000)
    options = parser.parse_args(arguments)
    print_calls()
    if options.tests:
        print_memory(options.tests)
    return 0


if __name__ == "__main__":
    sys.exit(main())
