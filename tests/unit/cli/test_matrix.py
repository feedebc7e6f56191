"""The durability matrix, and which scenarios fill it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.cli.test_scenarios import MANIFEST, Place

from krt_cli.scenarios.catalogue import scenarios
from krt_cli.scenarios.matrix import ACKS, is_of_matrix

ROOT = Path(__file__).resolve().parents[3]
EVERY = [item for item in scenarios(ROOT / "manifests/scenarios") if is_of_matrix(item)]
SECOND = 1_000_000


def resource(*producers: tuple[str, str, str, str]) -> str:
    """A manifest with a topic and a producer for each ``acks, min.insync.replicas, unclean``."""
    spec = {
        "topics": [
            {
                "name": name,
                "config": {"min.insync.replicas": isr, "unclean.leader.election.enable": unclean},
            }
            for name, _, isr, unclean in producers
        ],
        "traffic": {
            "producers": [
                {"name": f"p-{name}", "topic": name, "acks": acks} for name, acks, _, _ in producers
            ]
        },
    }
    return MANIFEST + yaml.safe_dump({"spec": spec | {"faults": [{"name": "down"}]}})


def card(name: str, lost: int, longest: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {"topic": name, "direction": "write", "group": ""}
    row |= {"partition": 0, "detectionLimit": SECOND, "gaps": []}
    return {
        "producers": [{"producer": f"p-{name}", "lost": lost, "acked": 100}],
        "availability": [row if longest is None else row | {"max": longest}],
    }


def test_matrix_of_several_runs_shows_spread_and_what_was_not_seen(tmp_path: Path) -> None:
    place = Place(tmp_path)
    text = resource(("a", "1", "2", "true"))
    place.add("matrix-crash", text)
    for at, (lost, longest) in enumerate(((0, None), (5, 7 * SECOND), (9, 8 * SECOND)), start=1):
        place.ran("matrix-crash", at, text=text, **card("a", lost, longest))
    assert place.run("results", "keep") == 0
    page = (place.docs / "matrix.md").read_text()
    assert "## broker crash" in page
    assert "3 runs" in page
    line = next(line for line in page.splitlines() if line.startswith("| 2 | yes"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    cell = "5 (0 to 9) of 100 lost; pause 7.00 s (&lt; 1.00 s to 8.00 s)"
    assert cells == ["2", "yes", "-", cell, "-"]


def test_matrix_made_of_the_kept_results_alone_is_the_same(tmp_path: Path) -> None:
    place = Place(tmp_path)
    text = resource(("a", "all", "1", "false"))
    place.add("matrix-crash", text)
    place.ran("matrix-crash", 1, text=text, **card("a", 0, 3 * SECOND))
    place.ran("matrix-crash", 2, text=text, **card("a", 0, 2 * SECOND))
    place.run("results", "keep")
    before = (place.docs / "matrix.md").read_text()
    place.forget()
    place.run("results", "pages", "--out", str(place.built))
    assert (place.docs / "matrix.md").read_text() == before
    assert "2.50 s" in (place.built / "matrix.md").read_text()


def test_matrix_of_runs_without_a_ledger_of_each_producer_leaves_them_out(tmp_path: Path) -> None:
    place = Place(tmp_path)
    text = resource(("a", "all", "1", "false"))
    place.add("matrix-crash", text)
    place.ran("matrix-crash", 1, text=text)
    place.run("results", "keep")
    assert "No scenario of the matrix has been run." in (place.docs / "matrix.md").read_text()


def test_run_of_the_matrix_lists_its_scenarios_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path)
    place.add("matrix-crash")
    place.add("other")
    assert place.run("run", "--list", "--matrix") == 0
    assert capsys.readouterr().out.splitlines() == [
        "matrix-crash 0 stored, 1 requested; modes: zookeeper, kraft"
    ]


@pytest.mark.parametrize("scenario", EVERY, ids=lambda scenario: scenario.name)
def test_scenario_of_the_matrix_has_every_combination(scenario: Any) -> None:
    spec = yaml.safe_load(scenario.path.read_text())["spec"]
    config = {topic["name"]: topic["config"] for topic in spec["topics"]}
    found = {
        (
            str(producer["acks"]),
            config[producer["topic"]]["min.insync.replicas"],
            config[producer["topic"]]["unclean.leader.election.enable"],
        )
        for producer in spec["traffic"]["producers"]
    }
    assert found == {
        (acks, isr, unclean) for acks in ACKS for isr in "12" for unclean in ("true", "false")
    }
