"""Measures what each shortcut of the scoring's Spark session gains, against the plain way.

A history is scored with every shortcut and without each one, in rounds whose order changes. The
scorecards must be the same bytes. Printed are the medians and, for each shortcut, how much more
time its plain way takes.
"""

from __future__ import annotations

import argparse
import os
import sys
from statistics import median
from typing import TYPE_CHECKING

from bench.rounds import order
from bench.scoring.__main__ import MILLION, history, medians, score, write_head, write_row
from krt_scoring.engine.session import PLAIN_ENV, Shortcut

if TYPE_CHECKING:
    from bench.scoring.__main__ import Cost

ALL = "all shortcuts"
WRITES_ARCHIVE = 2
"""Scorings after which there is an archive of classes (``krt_scoring.engine.class_data``)."""
HEAD = ("session", "score s", "CPU s", "peak MiB", "score, all = 1", "CPU, all = 1")


def main() -> None:
    """Print the table; exit 1 where two scorecards differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("millions", type=float, help="million sends of the history")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--without",
        action="append",
        choices=[str(name) for name in Shortcut],
        help="measure this shortcut (all if not given; may be repeated)",
    )
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    folder, _ = history(int(options.millions * MILLION))
    measured = options.without or [str(name) for name in Shortcut]
    sessions = {ALL: "", **{f"without {name}": name for name in measured}}
    costs: dict[str, list[Cost]] = {name: [] for name in sessions}
    cards = set()
    os.environ[PLAIN_ENV] = ""
    for _ in range(WRITES_ARCHIVE):
        score(folder, options.cores)
    for number in range(options.rounds):
        for name, plain in order(sessions.items(), number):
            os.environ[PLAIN_ENV] = plain
            cost, card = score(folder, options.cores)
            costs[name].append(cost)
            cards.add(card)
    write_head(HEAD)
    seconds = {name: median(cost.seconds for cost in found) for name, found in costs.items()}
    cpu = {name: median(cost.cpu for cost in found) for name, found in costs.items()}
    for name, found in costs.items():
        row = (
            name,
            *medians(found),
            f"{seconds[name] / seconds[ALL]:.2f}",
            f"{cpu[name] / cpu[ALL]:.2f}",
        )
        write_row(row)
    if len(cards) > 1:
        sys.exit(f"{len(cards)} different scorecards; a shortcut changes the result")


if __name__ == "__main__":
    main()
