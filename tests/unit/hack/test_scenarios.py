"""Which scenarios are run, and the pages written from stored results."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hack import scenario_results, scenarios

from krt_operator.api.status import FaultState, Phase

ROOT = Path(__file__).resolve().parents[3]

MANIFEST = (
    "# A broker crashes\n# and is back.\n#\n# Claim: nothing is lost,\n# ever.\napiVersion: v1\n"
)
CARD: dict[str, Any] = {
    "verdict": "Passed",
    "expectationResults": [
        {"expectation": "loss", "expected": "none", "observed": "0 records", "result": "Met"},
        {
            "expectation": "down.leaderChanges",
            "expected": "at least 1",
            "observed": "2 | 3",
            "result": "Met",
        },
    ],
    "faults": [
        {
            "name": "down",
            "action": "CrashPod",
            "targets": [{"member": "kafka-1"}],
            "verified": True,
            "observations": [{"kind": "ProcessKilled"}],
        }
    ],
    "partitions": [
        {
            "fault": "down",
            "topic": "foo",
            "partition": 0,
            "replicas": [1, 0],
            "before": {"at": 1, "leader": 1, "isr": [0, 1]},
            "worst": {"at": 2, "leader": -1, "isr": [1]},
        }
    ],
    "rejections": {"NOT_ENOUGH_REPLICAS": 7},
    "inconclusiveReasons": [],
}


class Place:
    """Scenarios, results and pages in a folder of their own."""

    def __init__(self, home: Path) -> None:
        self.scenarios, self.store, self.docs = home / "scenarios", home / "store", home / "docs"
        self.scenarios.mkdir()

    def forget(self) -> None:
        """As on another machine, or after another state folder was chosen."""
        shutil.rmtree(self.store)

    def add(self, name: str, text: str = MANIFEST) -> None:
        (self.scenarios / f"{name}.yaml").write_text(text)

    def ran(self, name: str, at: int, *, key: str = "k", text: str = MANIFEST, **card: Any) -> None:
        folder = self.store / name / key / f"uid-{at}"
        folder.mkdir(parents=True)
        ended = f"2026-11-21T10:{at:02}:00.000000Z"
        status: dict[str, Any] = {"phase": "Completed", "completionTime": ended, "score": 97}
        status |= {"verdict": card.get("verdict", "Passed"), "summary": "all there"}
        test = {
            "metadata": {"name": name, "creationTimestamp": "2026-11-21T10:00:00Z"},
            "status": status,
        }
        (folder / "test.json").write_text(json.dumps(test))
        (folder / "scorecard.json").write_text(json.dumps(CARD | card))
        (folder / f"{name}.yaml").write_text(text)
        (folder / "report.html").write_text(f"report of {at}")

    def write(self) -> str:
        told: str = scenarios.write(self.scenarios, self.store, self.docs)
        return told

    def page(self, name: str = "README") -> str:
        return (self.docs / f"{name}.md").read_text()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def claim(result: str, name: str = "loss") -> dict[str, str]:
    return {"expectation": name, "expected": "none", "observed": "1 records", "result": result}


def test_without_a_run_there_is_no_page(place: Place) -> None:
    place.add("one")
    assert "nothing written" in place.write()
    assert not place.docs.exists()


def test_the_table_and_the_page_come_from_the_scorecard(place: Place) -> None:
    place.add("one")
    place.add("two")
    place.ran("one", 3)
    assert "1 of 2 scenarios" in place.write()
    table = place.page()
    assert "| [one](one.md) | Nothing is lost, ever. | held | `loss`: 0 records; " in table
    assert "2 \\| 3" in table
    assert "| Passed | 1 | 180 | [report](reports/one.html) |" in table
    assert "Never run: two." in table
    page = place.page("one")
    assert "A broker crashes and is back." in page
    assert "Fault down: CrashPod of kafka-1, proved by ProcessKilled" in page
    assert "| foo-0 | 1 0 | leader 1, ISR 0 1 | no leader, ISR 1 | not seen |" in page
    assert "7 with `NOT_ENOUGH_REPLICAS`" in page


def test_a_page_of_a_scenario_that_is_no_more_goes(place: Place) -> None:
    place.add("one")
    place.ran("one", 1)
    gone = [place.docs / name for name in ("gone.md", "results/gone.json", "reports/gone.html")]
    for path in gone:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[]")
    place.write()
    assert not any(path.exists() for path in gone)


def test_pages_of_scenarios_not_run_here_stay(place: Place) -> None:
    place.add("one")
    place.add("two")
    place.ran("one", 1)
    place.ran("one", 2)
    place.write()
    page = place.page("one")
    place.forget()
    place.ran("two", 3)
    assert "2 of 2 scenarios" in place.write()
    assert place.page("one") == page
    assert "[one.html](reports/one.html)" in page
    assert (place.docs / "reports/one.html").read_text() == "report of 2"


def test_runs_made_elsewhere_and_here_are_compared(place: Place) -> None:
    place.add("one")
    place.ran("one", 1)
    place.write()
    place.forget()
    place.ran("one", 2, claims=[claim("NotMet")])
    place.write()
    assert "| 2, not alike |" in place.page()
    assert (place.docs / "reports/one.html").read_text() == "report of 2"


def test_a_run_without_a_report_is_not_shown_with_an_older_one(place: Place) -> None:
    place.add("one")
    place.ran("one", 1)
    place.write()
    place.ran("one", 2)
    (place.store / "one/k/uid-2/report.html").unlink()
    place.write()
    assert "reports/" not in place.page("one")
    assert not (place.docs / "reports/one.html").exists()


def test_a_result_of_another_manifest_is_shown_as_such(place: Place) -> None:
    place.add("one")
    place.add("two")
    place.ran("one", 1)
    place.ran("two", 1)
    place.write()
    assert "Changed" not in place.page()
    place.forget()
    changed = MANIFEST + "spec: {}\n"
    place.add("one", changed)
    place.write()
    assert "Changed since they were run: one." in place.page()
    assert "has been changed since" in place.page("one")
    assert "has been changed since" not in place.page("two")
    place.ran("one", 2, text=changed, claims=[claim("NotMet")])
    place.write()
    assert "Changed" not in place.page()
    assert "| did not hold |" in place.page()
    assert "Runs: 1. " in place.page("one")


def test_runs_of_one_build_and_of_several_are_compared(place: Place) -> None:
    place.add("one")
    place.ran("one", 2, key="old")
    place.ran("one", 3, key="old")
    place.write()
    assert "| 2, alike |" in place.page()
    place.ran("one", 4)
    place.write()
    assert "| 3 by 2 builds, alike |" in place.page()
    place.ran("one", 5, claims=[claim("NotMet")])
    place.write()
    assert "| 4 by 2 builds, not alike |" in place.page()
    place.ran("one", 6, claims=[claim("NotMet")])
    place.write()
    assert "| 5 by 2 builds, the last 2 alike |" in place.page()


def test_a_failed_verdict_tells_runs_apart_whose_claims_came_out_alike(place: Place) -> None:
    place.add("one")
    place.ran("one", 1)
    place.ran("one", 2, verdict="Failed")
    place.write()
    assert "| 2, not alike |" in place.page()


def test_the_last_runs_are_kept(place: Place) -> None:
    place.add("one")
    place.ran("one", 1, claims=[claim("NotMet")])
    for at in range(2, 2 + scenario_results.KEPT):
        place.ran("one", at)
        place.write()
    assert f"| {scenario_results.KEPT}, alike |" in place.page()


@pytest.mark.parametrize(
    ("card", "outcome"),
    [
        ({}, "met"),
        ({"verdict": "Failed"}, "not permitted"),
        ({"verdict": "Failed", "expectationResults": [claim("NotMet")]}, "not met"),
        ({"verdict": "Degraded"}, "met"),
        ({"expectationResults": [claim("NotMet"), claim("NotEvaluated")]}, "not met"),
        ({"expectationResults": [claim("NotEvaluated"), claim("Met")]}, "not evaluated"),
        ({"expectationResults": []}, "not evaluated"),
        ({"verdict": "Inconclusive"}, "inconclusive"),
    ],
)
def test_outcomes(place: Place, card: dict[str, Any], outcome: str) -> None:
    place.ran("one", 1, **card)
    result = scenario_results.read(place.store / "one/k/uid-1")
    assert result.outcome == outcome
    assert scenarios.summary(result).startswith(outcome)


def test_a_check_wants_every_run_to_have_held(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.ran("one", 1)
    place.ran("one", 2, key="other", claims=[claim("NotMet")])
    place.ran("two", 1)
    place.ran("two", 2, claims=[claim("NotEvaluated")])
    place.ran("two", 3)
    assert scenarios.check(place.store, ["one/k"])
    assert not scenarios.check(place.store, ["one/k", "two/k", "one/k"])
    assert "two: not measured (0 of 1 claims), verdict Passed; loss" in capsys.readouterr().out
    assert not scenarios.check(place.store, ["three/k"])
    assert "three: was not run" in capsys.readouterr().out


def test_a_check_of_single_runs_passes_over_earlier_ones(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.ran("one", 1, claims=[claim("NotEvaluated")])
    place.ran("one", 2)
    assert scenarios.check(place.store, ["one/k/uid-2"])
    assert capsys.readouterr().out.count("one: held") == 1
    assert not scenarios.check(place.store, ["one/k/uid-1"])
    assert not scenarios.check(place.store, ["one/k/uid-2", "one/k/none"])
    assert "one: was not run" in capsys.readouterr().out


def test_a_test_that_was_to_be_refused_is_told_by_its_status(place: Place) -> None:
    place.ran("one", 1)
    folder = place.store / "one/k/uid-1"
    (folder / "scorecard.json").unlink()
    test = json.loads((folder / "test.json").read_text())
    test["spec"] = {"expect": {"error": "TooFewNodes"}}
    for claims, outcome in (
        ({"held": 1}, "met"),
        ({"held": 0, "notMet": ["error"]}, "not met"),
    ):
        test["status"]["expectationResults"] = claims
        (folder / "test.json").write_text(json.dumps(test))
        assert scenario_results.read(folder).outcome == outcome


def test_a_test_that_did_not_end_says_where_it_was(place: Place) -> None:
    place.ran("one", 1)
    folder = place.store / "one/k/uid-1"
    (folder / "scorecard.json").unlink()
    test = json.loads((folder / "test.json").read_text())
    test["status"] = {"phase": "Warmup"}
    (folder / "test.json").write_text(json.dumps(test))
    result = scenario_results.read(folder)
    assert result.outcome == "did not end"
    assert "Warmup" in scenarios.summary(result)


def test_the_comments_of_every_scenario_tell_setting_and_claim() -> None:
    for path in (ROOT / "manifests/scenarios").glob("*.yaml"):
        setting, said = scenarios.story(path.read_text())
        assert setting, path.name
        assert said.endswith("."), path.name


def listed(tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    home = {"KRT_STATE": str(tmp_path), "KRT_CLUSTER": "unit"}
    return subprocess.run(
        [ROOT / "hack/scenarios", "--list"],
        env=os.environ | home | env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_or_the_chosen_ones(tmp_path: Path) -> None:
    every = listed(tmp_path).stdout.splitlines()
    assert len(every) == len(list((ROOT / "manifests/scenarios").glob("*.yaml")))
    chosen = listed(tmp_path, ONLY="baseline,one-key", TIMES="3")
    assert chosen.stdout.splitlines() == [
        "baseline 0 stored, 3 wanted",
        "one-key 0 stored, 3 wanted",
    ]
    unknown = listed(tmp_path, ONLY="baseline,nonesuch")
    assert unknown.returncode == 1
    assert "there is no scenario nonesuch" in unknown.stderr


def test_what_is_stored_counts_until_manifest_or_images_change(tmp_path: Path) -> None:
    script = f'. {ROOT}/hack/lib.sh; sha() {{ {{ cat "$STATE/images.values.yaml" 2>/dev/null; '
    script += f"cat {ROOT}/manifests/scenarios/baseline.yaml; }} | sha256 | cut -c 1-12; }}; sha"
    env = os.environ | {"KRT_STATE": str(tmp_path), "KRT_CLUSTER": "unit"}
    key = subprocess.run(
        ["bash", "-c", script], env=env, capture_output=True, text=True, check=True
    ).stdout.strip()
    whole, partial = (tmp_path / "unit/scenarios/baseline" / key / name for name in ("u1", ".u2"))
    for folder in (whole, partial):
        folder.mkdir(parents=True)
        (folder / "test.json").write_text("{}")
    assert listed(tmp_path, ONLY="baseline").stdout == "baseline 1 stored, 1 wanted\n"
    again = listed(tmp_path, ONLY="baseline", TIMES="2", AGAIN="1")
    assert again.stdout == "baseline 1 stored, 3 wanted\n"
    (tmp_path / "unit/images.values.yaml").write_text("images: other\n")
    assert listed(tmp_path, ONLY="baseline").stdout == "baseline 0 stored, 1 wanted\n"


def test_the_next_scenario_begins_when_a_fault_has_been_injected_or_there_is_none() -> None:
    """Sooner it would begin in the steady time, later it would wait for one that is over."""
    text = (ROOT / "hack" / "scenarios").read_text(encoding="utf-8")
    found = re.search(r"^readonly INJECTED=\((.*)\)$", text, re.MULTILINE)
    assert found is not None
    words = set(found[1].split())
    before = {FaultState.PENDING, FaultState.SCHEDULED}
    assert words == {state.value for state in FaultState if state not in before} | {Phase.DRAINING}
    earlier = list(Phase)[: list(Phase).index(Phase.DRAINING)]
    assert not words & {phase.value for phase in earlier}
