"""The rounds in which producers are compared, and the table that the comparison ends with."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from bench.traffic.__main__ import OURS, PERFORMANCE, run_rounds, table
from bench.traffic.tools import Cost, _wait

if TYPE_CHECKING:
    from pathlib import Path


def test_others_send_as_many_records_as_ours_did_last(tmp_path: Path) -> None:
    ran: list[tuple[str, int]] = []

    def run(name: str, records: int) -> Cost:
        ran.append((name, records))
        # Ours sends for a time: more records in each round.
        return Cost(len(ran) if name == OURS else records, 1.0, 1.0, 1.0)

    names = (OURS, PERFORMANCE)
    producers = {name: lambda records, _, name=name: run(name, records) for name in names}
    found = list(run_rounds(producers, 2, tmp_path))
    assert ran == [
        *((OURS, 0), (PERFORMANCE, 1)),
        *((OURS, 1), (PERFORMANCE, 3)),
        *((PERFORMANCE, 3), (OURS, 3)),
    ]
    assert [tuple(one) for one in found] == [names] * 2
    assert [one[OURS].records for one in found] == [3, 6]


def test_table_compares_producers_of_the_same_round() -> None:
    rounds = [
        {OURS: Cost(10, 200.0, 4.0, 90.0), PERFORMANCE: Cost(10, 100.0, 8.0, 200.0)},
        {OURS: Cost(10, 100.0, 4.0, 95.0), PERFORMANCE: Cost(10, 200.0, 4.0, 210.0)},
        {OURS: Cost(10, 300.0, 5.0, 80.0), PERFORMANCE: Cost(10, 300.0, 5.0, 190.0)},
    ]
    head, _, ours, kafka = table(rounds)
    assert head.startswith("| 3 rounds, min / median / max |")
    cells = ["100 / 200 / 300", "4.0 / 4.0 / 5.0", "95", "1.00 / 1.00 / 1.00", "1.00 / 1.00 / 1.00"]
    assert ours == f"| {OURS} | {' | '.join(cells)} |"
    cells = [
        "100 / 200 / 300",
        "4.0 / 5.0 / 8.0",
        "210",
        "0.50 / 1.00 / 2.00",
        "0.50 / 1.00 / 1.00",
    ]
    assert kafka == f"| {PERFORMANCE} | {' | '.join(cells)} |"


def test_peak_is_that_of_the_process_not_of_the_one_that_started_it(tmp_path: Path) -> None:
    here = b"x" * (256 << 20)
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.2)"])
    _, peak = _wait(process, tmp_path / "log")
    assert 4 < peak < len(here) >> 20
