"""Measures what the run second by second (``series.json``) adds to the time of scoring.

A history is scored with the series and without it, in alternating order. Printed are the medians,
and the time that the series' query was under way, which other queries share.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.rounds import order
from bench.scoring.__main__ import MILLION, history, measure, medians, write_head, write_row
from bench.scoring.history import BUNDLE
from krt_scoring import cli
from krt_scoring.engine.session import PLAIN_ENV, Shortcut
from krt_scoring.metrics import seconds

if TYPE_CHECKING:
    from bench.scoring.__main__ import Cost

WITH, WITHOUT = "with", "without"
HEAD = ("series", "score s", "CPU s", "peak MiB", "query s", "query / score")


def run(mode: str, bundle: str, out: str, cores: str) -> None:
    """Score a bundle in this process and print the seconds that the series' query took."""
    count, took = seconds.count, 0.0

    def timed(*arguments: Any, **options: Any) -> Any:
        nonlocal took
        if mode == WITHOUT:
            return None
        started = time.monotonic()
        found = count(*arguments, **options)
        took += time.monotonic() - started
        return found

    seconds.count = timed
    cli.main([bundle, "--out", out, "--cores", cores])
    sys.stdout.write(f"{took:.1f}\n")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("millions", type=float, help="million sends of the history")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    os.environ.setdefault(PLAIN_ENV, Shortcut.CLASS_DATA)
    folder, _ = history(int(options.millions * MILLION))
    costs: dict[str, list[Cost]] = {WITHOUT: [], WITH: []}
    for number in range(options.rounds):
        for mode in order(costs, number):
            with tempfile.TemporaryDirectory() as temporary:
                out = str(Path(temporary) / "scorecard.json")
                command = [sys.executable, "-m", "bench.scoring.series", "run", mode]
                command += [str(folder / BUNDLE), out, str(options.cores)]
                costs[mode].append(measure(command))
    write_head(HEAD)
    for mode, found in costs.items():
        queries = [float(cost.output.split()[-1]) for cost in found]
        shares = [query / cost.seconds for query, cost in zip(queries, found, strict=True)]
        row = (
            mode,
            *medians(found),
            f"{median(queries):.1f}",
            f"{100 * median(shares):.1f} %",
        )
        write_row(row)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(*sys.argv[2:])
    else:
        main()
