"""Measures what each shortcut of the scoring's Spark session gains, against the plain way.

A history is scored with every shortcut and then without each one, in alternating rounds. The
scorecards must be the same bytes. Printed are the medians and, for each shortcut, how much more
time its plain way takes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench.scoring.__main__ import MILLION, history, measure
from bench.scoring.history import BUNDLE
from krt_scoring.engine.session import PLAIN_ENV, Shortcut

if TYPE_CHECKING:
    from bench.scoring.__main__ import Cost

ALL = "all shortcuts"
HEAD = ("session", "score s", "CPU s", "peak MiB", "score, all = 1", "CPU, all = 1")


def score(bundle: Path, plain: str, cores: int) -> tuple[Cost, str]:
    """Score a history; return its cost and the digest of the scorecard.

    Args:
        bundle: folder of the evidence.
        plain: shortcuts not to take, as the environment names them.
        cores: worker threads.
    """
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "scorecard.json"
        os.environ[PLAIN_ENV] = plain
        command = [sys.executable, "-m", "krt_scoring.cli", str(bundle), "--out", str(out)]
        cost = measure([*command, "--cores", str(cores)])
        return cost, hashlib.sha256(out.read_bytes()).hexdigest()


def main() -> None:
    """Print the table; exit 1 where two scorecards differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("millions", type=float, help="million sends of the history")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    folder, _ = history(int(options.millions * MILLION))
    sessions = {ALL: "", **{f"without {name}": str(name) for name in Shortcut}}
    costs: dict[str, list[Cost]] = {name: [] for name in sessions}
    digests = set()
    for _ in range(options.rounds):
        for name, plain in sessions.items():
            cost, digest = score(folder / BUNDLE, plain, options.cores)
            costs[name].append(cost)
            digests.add(digest)
    sys.stdout.write("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|\n")
    seconds = {name: median(cost.seconds for cost in found) for name, found in costs.items()}
    cpu = {name: median(cost.cpu for cost in found) for name, found in costs.items()}
    for name, found in costs.items():
        row = (
            name,
            f"{seconds[name]:.1f}",
            f"{cpu[name]:.1f}",
            str(max(cost.peak_mib for cost in found)),
            f"{seconds[name] / seconds[ALL]:.2f}",
            f"{cpu[name] / cpu[ALL]:.2f}",
        )
        sys.stdout.write("| " + " | ".join(row) + " |\n")
    if len(digests) > 1:
        sys.exit(f"{len(digests)} different scorecards; a shortcut changes the result")


if __name__ == "__main__":
    main()
