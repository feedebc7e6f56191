"""The page that shows ZooKeeper and KRaft mode side by side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cli.test_scenarios import Place

from krt_cli.scenarios.catalogue import Scenario

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 1_000_000
NONE_YET = "No scenario has been run in both modes yet; `make scenarios MODES=both` runs all"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.delenv("KRT_EVIDENCE", raising=False)
    found = Place(tmp_path)
    found.add("one")
    return found


def gap(seconds: float, **breakdown: float) -> dict[str, Any]:
    parts = {name: round(value * SECOND) for name, value in breakdown.items()}
    return {"duration": round(seconds * SECOND), "breakdown": parts}


def card(*gaps: dict[str, Any], write: float | None = None, lost: int = 0) -> dict[str, Any]:
    """A scorecard with these gaps of writes; without `write`, the longest was below 1 s."""
    objective: dict[str, Any] = {"name": "maxWriteUnavailability", "detectionLimit": SECOND}
    if write is not None:
        objective["value"] = round(write * SECOND)
    row = {"topic": "foo", "partition": 0, "direction": "write", "gaps": list(gaps)}
    return {
        "availability": [row],
        "objectives": [objective],
        "ledger": {"lost": lost, "acked": 100},
    }


def ran_in_kraft_mode(place: Place, at: int, **parts: Any) -> None:
    turned = Scenario(place.manifests / "one.yaml", turned=True).manifest()
    place.ran("one.kraft", at, manifest="one", text=turned, **parts)


def page(place: Place) -> str:
    return (place.docs / "modes.md").read_text()


def test_page_without_results_of_kraft_mode_says_so_and_how_to_get_them(place: Place) -> None:
    place.ran("one", 1)
    place.write()
    assert NONE_YET in page(place)
    assert "|" not in page(place)
    ran_in_kraft_mode(place, 2)
    place.write()
    assert NONE_YET not in page(place)


def test_page_shows_both_modes_side_by_side_over_several_runs(place: Place) -> None:
    longest = gap(7.5, detect=6, elect=1, client=0.5)
    place.ran("one", 1, **card(longest, gap(1, elect=0.5), write=7.5, lost=3))
    place.ran("one", 2, **card(gap(9, detect=7, elect=2), write=9))
    ran_in_kraft_mode(place, 3, verdict="Degraded", **card(gap(5, detect=4, elect=0), write=5))
    place.write()
    rows = [line for line in page(place).splitlines() if line.startswith("| [one]")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    link = "[one](../../manifests/scenarios/one.yaml)"
    assert cells == [
        [
            link,
            "ZooKeeper",
            "6.50 s (6.00 s to 7.00 s, n = 2)",
            "1.50 s (1.00 s to 2.00 s, n = 2)",
            "8.25 s (7.50 s to 9.00 s, n = 2)",
            "-",
            "1.5 (0 to 3, n = 2) of 100 (n = 2)",
            "2 met",
            "2 Passed",
        ],
        [
            link,
            "KRaft",
            "4.00 s (n = 1)",
            "0 µs (n = 1)",
            "5.00 s (n = 1)",
            "-",
            "0 (n = 1) of 100 (n = 1)",
            "1 met",
            "1 Degraded",
        ],
    ]
    assert "| detection | 1 | 1 | 0 | -2.50 s |" in page(place)
    assert "| election | 1 | 1 | 0 | -1.50 s |" in page(place)
    assert "| longest pause of writes | 1 | 1 | 0 | -3.25 s |" in page(place)
    assert "| longest pause of reads | 0 | 0 | 0 | - |" in page(place)
    assert "[one](one.kraft.md)" in place.page("modes")


def test_what_is_below_its_detection_limit_is_shown_and_not_compared(place: Place) -> None:
    place.ran("one", 1, **card(write=2))
    ran_in_kraft_mode(place, 2, **card())
    place.write()
    assert "| < 1.00 s (n = 1) |" in page(place)
    assert "| longest pause of writes | 0 | 0 | 0 | - |" in page(place)


def test_longest_parts_of_every_run_are_kept_though_most_gaps_are_not(place: Place) -> None:
    short = gap(1, detect=0.25, elect=3)
    gaps = [gap(9, client=9), gap(8, client=8), gap(7, client=7), short]
    place.ran("one", 1, **card(*gaps, write=9))
    place.ran("one", 2, **card(*gaps, write=9))
    ran_in_kraft_mode(place, 3, **card(*gaps, write=9))
    place.write()
    before = page(place)
    assert "| 250.0 ms (n = 2) | 3.00 s (n = 2) |" in before
    place.forget()
    place.write()
    assert page(place) == before
    kept = json.loads((place.docs / "results/one.json").read_text())
    assert [run["card"]["parts"]["elect"] for run in kept] == [3 * SECOND, 3 * SECOND]


def test_scenario_whose_resource_changed_since_is_marked(place: Place) -> None:
    place.ran("one", 1)
    ran_in_kraft_mode(place, 2)
    place.write()
    assert "has changed" not in page(place)
    place.add("one", (place.manifests / "one.yaml").read_text() + "spec: {warmup: 9s}\n")
    place.write()
    assert "The resource has changed since the last run of: one, one.kraft." in page(place)
