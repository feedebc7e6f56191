"""How long it takes to score one history, from a folder and from the store.

Each scoring is a process of its own, from nothing to the scorecard. From the store the rows are
read in three ways: from a copy, as krt-score and krt evidence make one; from copies that the driver
sends to the executors, as a test's Job does with small tables; and by Spark's S3 client, as it does
with larger ones. All must give the same bytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench.rounds import order
from bench.scoring.__main__ import Cost, measure, write_head, write_row
from bench.scoring.history import BUNDLE
from bench.store.bundles import upload
from bench.store.numbers import ratios, spread
from bench.store.reader import COPY, FOLDER, JARS, SENT, STORE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_contract.stores.objects import ObjectStore

ROOT = Path(__file__).parents[2]
WAYS = (FOLDER, COPY, SENT, STORE)
LABELS = {
    FOLDER: "folder",
    COPY: "store, copied first (krt-score)",
    SENT: "store, sent to the executors (a test's Job)",
    STORE: "store, rows by Spark's S3 client (a test's Job of large tables)",
}
HEAD = (
    "evidence in",
    "score s, min / median / max",
    "CPU s",
    "peak MiB",
    "time / folder, same round",
    "CPU / folder",
)


def compare(
    history: Path, objects: ObjectStore, variables: Mapping[str, str], rounds: int, cores: int
) -> None:
    """Print the table; exit 1 where the scorecards differ.

    Args:
        history: the folder of a generated history.
        objects: the store.
        variables: the environment that names the store.
        rounds: how often each way is taken, in an order that changes.
        cores: worker threads.
    """
    upload(history / BUNDLE, objects, str(BUNDLE))
    jars = subprocess.run([ROOT / "hack/s3-jars"], check=True, capture_output=True, text=True)  # noqa: S603 - ours
    os.environ.update({**variables, JARS: jars.stdout.strip()})
    costs: dict[str, list[Cost]] = {way: [] for way in WAYS}
    cards = set()
    for turn in range(rounds):
        for way in order(WAYS, turn):
            with tempfile.TemporaryDirectory() as temporary:
                out = Path(temporary) / "scorecard.json"
                place = history if way == FOLDER else Path(temporary) / "copy"
                words = [way, str(place), str(BUNDLE), str(out), str(cores)]
                costs[way].append(measure([sys.executable, "-m", "bench.store.reader", *words]))
                cards.add(out.read_bytes())
            # One takes a minute or more: what is known already is not lost with the table.
            cost = costs[way][-1]
            print(f"round {turn + 1}: {way} {cost.seconds:.1f} s, {cost.cpu:.1f} s CPU", flush=True)
    write_head(HEAD)
    for line in lines(costs):
        write_row(line)
    if len(cards) > 1:
        sys.exit(f"{len(cards)} different scorecards; where the evidence is changes the result")


def lines(costs: Mapping[str, Sequence[Cost]]) -> list[tuple[str, ...]]:
    """Return the lines of the table, those of one round compared with each other."""
    base = costs[FOLDER]
    found: list[tuple[str, ...]] = []
    for way, mine in costs.items():
        times = ratios([cost.seconds for cost in mine], [cost.seconds for cost in base])
        cpu = ratios([cost.cpu for cost in mine], [cost.cpu for cost in base])
        found.append(
            (
                LABELS[way],
                spread([cost.seconds for cost in mine], ".1f"),
                f"{median(cost.cpu for cost in mine):.1f}",
                str(max(cost.peak_mib for cost in mine)),
                spread(times, ".2f"),
                f"{median(cpu):.2f}",
            )
        )
    return found
