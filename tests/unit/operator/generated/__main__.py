"""Generates specs and prints what became of them.

    python -m tests.unit.operator.generated [--count 10000] [--processes N]

Exits with 1 if one was accepted or refused wrongly or did not end; each is printed with its seed.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from tests.unit.operator.generated.outcomes import WrongError, outcome
from tests.unit.operator.generated.specs import generate

if TYPE_CHECKING:
    from collections.abc import Sequence

CHUNK = 25
WRONG = "wrong"


def of_seed(seed: int) -> tuple[str, str]:
    """What became of the spec of a seed, and what is wrong with that."""
    logging.disable(logging.CRITICAL)
    try:
        return outcome(generate(seed)), ""
    except WrongError as error:
        return WRONG, f"seed {seed}: {error}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how many specs came to which end."""
    parser = argparse.ArgumentParser(prog="python -m tests.unit.operator.generated")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(options.processes) as pool:
        for result, problem in pool.map(of_seed, range(options.count), chunksize=CHUNK):
            counts[result] += 1
            if problem:
                print(problem, file=sys.stderr, flush=True)  # noqa: T201
    for result, count in sorted(counts.items()):
        print(f"{result:<24} {count:>6} of {options.count}")  # noqa: T201
    return 1 if counts[WRONG] else 0


if __name__ == "__main__":
    sys.exit(main())
