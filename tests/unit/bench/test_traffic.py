"""The table that the comparison of producers ends with."""

from __future__ import annotations

from bench.traffic.__main__ import OURS, PERFORMANCE, table
from bench.traffic.tools import Cost


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
