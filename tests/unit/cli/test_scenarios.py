"""Which scenarios are run, how they are run, and what is kept and written of their results."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.unit.cli.fake_kubectl import FakeKubectl, event

from krt_cli.errors import CouldNotRunError, ExitCode
from krt_cli.main import run
from krt_cli.resource import Test
from krt_cli.scenarios import archive, pages
from krt_cli.scenarios.catalogue import Description, Scenario, describe, scenarios
from krt_cli.scenarios.results import Outcome, read
from krt_cli.scenarios.runner import next_may_start
from krt_operator.api.status import FaultState, Phase

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]

MANIFEST = (
    "# A broker crashes\n# and returns.\n#\n# Expected behaviour: nothing is lost,\n# ever.\n#\n"
    "# Category: Durability\n# Fault: broker crash\n# Result: loses nothing\n"
    "# Reference: https://example.org/a\n# Reference: https://example.org/b\n"
    "apiVersion: v1\n"
)
CARD: dict[str, Any] = {
    "schemaVersion": 2,
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
        self.manifests, self.state, self.docs = home / "scenarios", home / "state", home / "docs"
        self.store, self.built = self.state / "scenarios", home / "built"
        self.manifests.mkdir()

    def forget(self) -> None:
        """As on another machine, or after another state folder was chosen."""
        shutil.rmtree(self.store)

    def add(self, name: str, text: str = MANIFEST) -> None:
        (self.manifests / f"{name}.yaml").write_text(text)

    def ran(
        self,
        stored_as: str,
        at: int,
        *,
        key: str = "k",
        manifest: str = "",
        text: str = MANIFEST,
        **card: Any,
    ) -> None:
        """Store a run by the scenario's id; `manifest` is its name, if that is another one."""
        name = manifest or stored_as
        folder = self.store / stored_as / key / f"uid-{at}"
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

    def key(self, name: str) -> str:
        (found,) = scenarios(self.manifests, [name])
        return found.key(self.state / "images.values.yaml")

    def run(self, *arguments: str) -> int:
        options = ["--manifests", self.manifests, "--docs", self.docs, "--state", self.state]
        return run(["scenarios", *map(str, options), *arguments])

    def write(self) -> None:
        """Keep the stored results and write all pages."""
        assert self.run("results", "keep") == 0
        if self.docs.exists():
            assert self.run("results", "pages", "--out", str(self.built)) == 0

    def page(self, name: str) -> str:
        return (self.built / f"{name}.md").read_text()

    def table(self) -> str:
        return (self.docs / "README.md").read_text()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.delenv("KRT_EVIDENCE", raising=False)
    return Place(tmp_path)


def expectation(result: str, name: str = "loss") -> dict[str, str]:
    return {"expectation": name, "expected": "none", "observed": "1 records", "result": result}


def test_keep_without_a_run_writes_nothing(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("one")
    place.write()
    assert "nothing written" in capsys.readouterr().err
    assert not place.docs.exists()


def test_table_and_page_come_from_the_scorecard(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("one")
    place.add("two")
    place.ran("one", 3)
    place.write()
    assert "1 of 2 scenarios" in capsys.readouterr().err
    table = place.table()
    link = "[one](../../manifests/scenarios/one.yaml)"
    assert "## Durability\n" in table
    assert "## Placement" not in table
    assert f"| {link} | broker crash | loses nothing | - | - | - | 1 met | 1 Passed |" in table
    assert "1 scenarios. Expectations of the last run of each: 1 met." in table
    assert "Never run: two." in table
    assert "| [one](one.md) ([report](reports/one.html)) |" in place.page("README")
    page = place.page("one")
    assert "A broker crashes and returns." in page
    assert "**Expected behaviour.** Nothing is lost, ever." in page
    assert "**Outcome of the last run: met.** Verdict on the data: Passed, score 97. all" in page
    assert "- <https://example.org/a>\n- <https://example.org/b>\n" in page
    assert "| 2026-11-21 10:03 | k | 180 | met | Passed | 97 | - | - | - | - |" in page
    assert "## Fault down: CrashPod of kafka-1, verified by ProcessKilled\n\n|" in page
    assert "| foo-0 | 1 0 | leader 1, ISR 0 1 | no leader, ISR 1 | not observed |\n" in page
    assert "7 with `NOT_ENOUGH_REPLICAS`" in page
    assert "| `loss` | none | 0 records | - | 1 met |\n" in page
    assert "at least 1 | 2 \\| 3 |" in page


def test_page_names_what_the_run_does_not_prove(place: Place) -> None:
    place.add("one")
    reason = {"code": "FaultNotVerified", "subject": "down", "message": "no <effect>"}
    fault = CARD["faults"][0] | {"verified": False, "observations": []}
    place.ran("one", 1, verdict="Inconclusive", inconclusiveReasons=[reason], faults=[fault])
    place.write()
    page = place.page("one")
    assert "## What the run does not prove" in page
    assert "- FaultNotVerified down: no &lt;effect>" in page
    assert "CrashPod of kafka-1, **not verified**" in page


def test_results_and_page_of_a_scenario_that_is_no_more_are_removed(place: Place) -> None:
    place.add("one")
    place.ran("one", 1)
    gone = [place.built / "gone.md", place.docs / "results/gone.json"]
    for path in gone:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[]")
    place.write()
    assert not any(path.exists() for path in gone)


def test_results_of_scenarios_not_run_here_stay(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("one")
    place.add("two")
    place.ran("one", 1)
    place.ran("one", 2)
    place.write()
    page = place.page("one")
    place.forget()
    place.ran("two", 3)
    place.write()
    assert "2 of 2 scenarios" in capsys.readouterr().err
    assert place.page("one") == page
    assert "[one.html](reports/one.html)" in page


def test_runs_made_elsewhere_and_here_are_compared(place: Place) -> None:
    place.add("one")
    place.ran("one", 1)
    place.write()
    place.forget()
    place.ran("one", 2, expectationResults=[expectation("NotMet")])
    place.write()
    assert "| 1 met, 1 not met |" in place.table()
    assert "came out the same in the last 1 of 2 runs." in place.page("one")


def test_page_of_a_run_without_a_scorecard_links_no_report(place: Place) -> None:
    place.add("one")
    place.ran("one", 1)
    place.write()
    place.ran("one", 2)
    (place.store / "one/k/uid-2/scorecard.json").unlink()
    place.write()
    assert "reports/" not in place.page("one")
    assert "reports/" not in place.page("README")


def test_result_of_an_earlier_manifest_is_marked(place: Place) -> None:
    place.add("one")
    place.add("two")
    place.ran("one", 1)
    place.ran("two", 1)
    place.write()
    assert "has changed" not in place.table()
    place.forget()
    changed = MANIFEST + "spec: {}\n"
    place.add("one", changed)
    place.write()
    assert "The resource has changed since the last run of: one." in place.table()
    assert "has changed since" in place.page("one")
    assert "has changed since" not in place.page("two")
    place.ran("one", 2, text=changed, expectationResults=[expectation("NotMet")])
    place.write()
    assert "has changed" not in place.table()
    assert "| 1 not met |" in place.table()
    assert "\n1 run. " in place.page("one")


def test_result_of_a_manifest_with_other_comments_is_not_marked(place: Place) -> None:
    place.add("one")
    place.ran("one", 1)
    place.add("one", MANIFEST.replace("crashes", "is killed") + "# the end\n")
    place.write()
    assert "has changed" not in place.table()
    assert "A broker is killed and returns." in place.page("one")


def test_runs_of_one_build_and_of_several_are_compared(place: Place) -> None:
    place.add("one")
    place.ran("one", 2, key="old")
    place.ran("one", 3, key="old")
    place.write()
    same = "Every expectation came out the same in"
    assert f"{same} 2 of 2 runs." in place.page("one")
    place.ran("one", 4)
    place.write()
    assert f"{same} 3 of 3 runs (2 builds)." in place.page("one")
    place.ran("one", 5, expectationResults=[expectation("NotMet")])
    place.write()
    assert f"{same} the last 1 of 4 runs (2 builds)." in place.page("one")
    place.ran("one", 6, expectationResults=[expectation("NotMet")])
    place.write()
    assert f"{same} the last 2 of 5 runs (2 builds)." in place.page("one")


def test_runs_with_another_verdict_differ_although_all_expectations_are_met(place: Place) -> None:
    place.add("one")
    place.ran("one", 1)
    place.ran("one", 2, verdict="Failed")
    place.write()
    assert "| 1 met, 1 not permitted | 1 Passed, 1 Failed |" in place.table()
    assert "the last 1 of 2 runs" in place.page("one")


def test_keep_drops_all_but_the_last_runs(place: Place) -> None:
    place.add("one")
    place.ran("one", 1, expectationResults=[expectation("NotMet")])
    for at in range(2, 2 + archive.RUNS):
        place.ran("one", at)
        place.write()
    assert f"| {archive.RUNS} met | {archive.RUNS} Passed |" in place.table()


def test_keep_leaves_out_scorecards_of_an_earlier_version_and_names_it(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("one")
    place.ran("one", 1, schemaVersion=1)
    place.ran("one", 2)
    place.write()
    assert "1 stored runs left out" in capsys.readouterr().err
    assert "| 1 met | 1 Passed |" in place.table()


def test_kept_scorecard_of_the_last_run_holds_what_a_report_needs_and_few_examples(
    place: Place,
) -> None:
    example = {"topic": "foo", "offset": 1, "history": [{"at": 1}]}
    anomaly = {"count": 9, "class": "Violation", "examples": [example] * 9}
    gaps = [{"start": at, "duration": at % 7} for at in range(20)]
    observations = [{"kind": "IsrShrank", "subject": f"foo-{n}"} for n in range(9)]
    place.add("one")
    place.ran("one", 1)
    place.ran(
        "one",
        2,
        ledger={"acked": 1},
        anomalies={"lost-write": anomaly},
        availability=[{"topic": "foo", "direction": "write", "gaps": gaps}],
        faults=[CARD["faults"][0] | {"observations": observations}],
        latency={"write": {}},
        timeline=[{"large": True}],
    )
    place.write()
    first, last = json.loads((place.docs / "results/one.json").read_text())
    assert sorted(first["card"]) == [
        "expectationResults",
        "inconclusiveReasons",
        "schemaVersion",
        "verdict",
    ]
    card = last["card"]
    assert card["ledger"] == {"acked": 1}
    assert card["anomalies"]["lost-write"]["count"] == 9
    assert card["anomalies"]["lost-write"]["examples"] == [{"topic": "foo", "offset": 1}] * 3
    assert [gap["start"] for gap in card["availability"][0]["gaps"]] == [5, 6, 13]
    assert len(card["faults"][0]["observations"]) == 3
    assert card["latency"] == {"write": {}}
    assert "timeline" not in card


@pytest.mark.parametrize(
    ("card", "outcome"),
    [
        ({}, "met"),
        ({"verdict": "Failed"}, "not permitted"),
        ({"verdict": "Failed", "expectationResults": [expectation("NotMet")]}, "not met"),
        ({"verdict": "Degraded"}, "met"),
        (
            {"expectationResults": [expectation("NotMet"), expectation("NotEvaluated")]},
            "not met",
        ),
        (
            {"expectationResults": [expectation("NotEvaluated"), expectation("Met")]},
            "not evaluated",
        ),
        ({"expectationResults": []}, "not evaluated"),
        ({"verdict": "Inconclusive"}, "inconclusive"),
    ],
)
def test_outcome_follows_expectations_then_verdict(
    place: Place, card: dict[str, Any], outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place.ran("one", 1, **card)
    folder = place.store / "one/k/uid-1"
    result = read(folder)
    assert result.outcome == outcome
    assert result.summary().startswith(outcome)
    assert place.run("results", "outcome", str(folder)) == 0
    assert capsys.readouterr().out == f"{result.summary()}\n"


def test_check_passes_only_if_every_run_met_what_is_expected(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two", "three"):
        place.add(name)
    place.ran("one", 1, key=place.key("one"))
    place.ran("one", 2, key="other", expectationResults=[expectation("NotMet")])
    place.ran("two", 1, key=place.key("two"))
    place.ran("two", 2, key=place.key("two"), expectationResults=[expectation("NotEvaluated")])
    place.ran("two", 3, key=place.key("two"))
    assert place.run("results", "check", "one") == 0
    assert place.run("results", "check", "one", "two", "one") == 1
    printed = capsys.readouterr().out
    assert "two: not evaluated (0 of 1 expectations met), verdict Passed; loss" in printed
    assert place.run("results", "check", "three") == 1
    assert "three: has not been run" in capsys.readouterr().out


def test_outcome_of_a_test_that_was_to_be_refused_follows_its_status(place: Place) -> None:
    place.ran("one", 1)
    folder = place.store / "one/k/uid-1"
    (folder / "scorecard.json").unlink()
    test = json.loads((folder / "test.json").read_text())
    test["spec"] = {"expect": {"error": "TooFewNodes"}}
    for results, outcome in (
        ({"met": 1}, "met"),
        ({"met": 0, "notMet": ["error"]}, "not met"),
    ):
        test["status"]["expectationResults"] = results
        (folder / "test.json").write_text(json.dumps(test))
        result = read(folder)
        assert result.outcome == outcome
        assert result.expectations[0]["observed"] == "phase Completed: all there"


def test_outcome_of_a_test_that_did_not_end_names_its_phase(place: Place) -> None:
    place.ran("one", 1)
    folder = place.store / "one/k/uid-1"
    (folder / "scorecard.json").unlink()
    test = json.loads((folder / "test.json").read_text())
    test["status"] = {"phase": "Warmup"}
    (folder / "test.json").write_text(json.dumps(test))
    result = read(folder)
    assert result.outcome == "did not end"
    assert "Warmup" in result.summary()


def test_description_of_every_scenario_has_setting_and_expected_behaviour() -> None:
    for scenario in scenarios(ROOT / "manifests/scenarios"):
        found = scenario.description()
        assert found.setting, scenario.name
        assert found.expected.endswith("."), scenario.name


def test_description_is_one_line_and_a_sentence() -> None:
    assert describe(MANIFEST) == Description(
        "A broker crashes and returns.",
        "Nothing is lost, ever.",
        "Durability",
        "broker crash",
        "loses nothing",
        ("https://example.org/a", "https://example.org/b"),
    )


@pytest.mark.parametrize("label", ["Category", "Fault", "Result"])
def test_description_without_a_label_is_refused_with_the_remedy(place: Place, label: str) -> None:
    text = "".join(line for line in MANIFEST.splitlines(keepends=True) if f"# {label}:" not in line)
    place.add("one", text)
    (scenario,) = scenarios(place.manifests)
    with pytest.raises(CouldNotRunError, match=r"one\.yaml") as error:
        scenario.description()
    assert f"'# {label}: ...'" in error.value.remedy


SECONDS = re.compile(r"\b(\d+) s\b")
DURATION = re.compile(r"^(?:(\d+)m)?(?:(\d+)s)?$")


def bounds(resource: Any) -> Iterator[int]:
    """Yield every duration of a resource in seconds, and every setting that can be one in ms."""
    if isinstance(resource, dict):
        for value in resource.values():
            yield from bounds(value)
    elif isinstance(resource, list):
        for value in resource:
            yield from bounds(value)
    elif isinstance(resource, str) and resource.isdecimal():
        yield int(resource) // 1000
    elif isinstance(resource, str) and resource and (found := DURATION.match(resource)):
        yield int(found[1] or 0) * 60 + int(found[2] or 0)


SCENARIOS = scenarios(ROOT / "manifests/scenarios")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda item: item.name)
def test_scenario_states_only_bounds_that_its_resource_sets(scenario: Scenario) -> None:
    text = scenario.description()
    stated = {int(value) for value in SECONDS.findall(f"{text.setting} {text.expected}")}
    resource = yaml.safe_load(scenario.path.read_text())
    default_leader_check_s = 300
    assert stated <= {*bounds(resource["spec"]), default_leader_check_s}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda item: item.name)
def test_scenario_states_every_limit_of_unavailability_that_is_checked(scenario: Scenario) -> None:
    expect = yaml.safe_load(scenario.path.read_text())["spec"].get("expect", {})
    checked = {
        limit
        for fault in expect.get("faults", [])
        for item in fault.get("unavailability", [])
        if item.get("max") == 0
        for limit in bounds([item["longerThan"]])
    }
    stated = {int(value) for value in SECONDS.findall(scenario.description().expected)}
    assert checked <= stated


RESULT = {"expectation": "loss", "expected": "none", "observed": "", "result": "Met"}


def test_numbers_of_several_runs_show_median_least_greatest_and_how_many(place: Place) -> None:
    place.add("one")
    for at, lost in enumerate((0, 5, 0, 7, 21), 1):
        place.ran("one", at, expectationResults=[RESULT | {"numbers": {"value": lost}}])
    pause = {"name": "maxWriteUnavailability", "limit": 15_000_000, "met": True, "unit": "us"}
    seen, unseen = pause | {"value": 8_310_000}, pause | {"detectionLimit": 5_000_000}
    old = pause | {"value": 0}
    for at, objective in enumerate((seen, unseen, old), 6):
        place.ran("one", at, objectives=[objective], ledger={"lost": 1, "acked": 100})
    place.write()
    table = place.table()
    assert (
        "| 1 (0 to 21, n = 6) of 100 (n = 3) | < 5.00 s (< 5.00 s to 8.31 s, n = 2) | - |" in table
    )
    page = place.page("one")
    assert "| 6 | met | Passed | 97 | 1 | 8.31 s | - | - |" in page.replace("| k | 360 |", "| 6 |")
    assert "| 1 | < 5.00 s | - | - |" in page
    assert "| 1 | - | - | - |" in page


def test_tally_of_a_refused_test_says_that_the_refusal_was_expected(place: Place) -> None:
    place.add("one")
    place.ran("one", 1, verdict="Inconclusive")
    folder = place.store / "one/k/uid-1"
    (folder / "scorecard.json").unlink()
    test = json.loads((folder / "test.json").read_text())
    test["spec"] = {"expect": {"error": "TooFewNodes"}}
    test["status"]["expectationResults"] = {"met": 1}
    (folder / "test.json").write_text(json.dumps(test))
    place.write()
    assert "| 1 met | 1 refused as expected |" in place.table()


def test_table_in_git_is_what_its_data_make_of_it() -> None:
    every = scenarios(ROOT / "manifests/scenarios")
    text = pages.table(every, archive.Archive(ROOT / "docs/scenarios/results"))
    stale = "run: hack/uv run --frozen krt scenarios results pages"
    assert (ROOT / "docs/scenarios/README.md").read_text() == text, stale
    text = pages.matrix(every, archive.Archive(ROOT / "docs/scenarios/results"))
    assert (ROOT / "docs/scenarios/matrix.md").read_text() == text, stale
    text = pages.modes(every, archive.Archive(ROOT / "docs/scenarios/results"))
    assert (ROOT / "docs/scenarios/modes.md").read_text() == text, stale


def test_list_names_all_or_the_chosen_ones(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("baseline", "one-key", "other"):
        place.add(name)
    assert place.run("run", "--list") == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert place.run("run", "--list", "baseline", "one-key", "--repeat", "3") == 0
    assert capsys.readouterr().out.splitlines() == [
        "baseline 0 stored, 3 requested; modes: zookeeper, kraft",
        "one-key 0 stored, 3 requested; modes: zookeeper, kraft",
    ]
    assert place.run("run", "--list", "baseline", "nonesuch") == 4
    assert "there is no scenario nonesuch" in capsys.readouterr().err


def test_list_finds_the_state_of_the_cluster_as_the_scripts_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("KRT_STATE", str(tmp_path))
    monkeypatch.setenv("KRT_CLUSTER", "unit")
    manifest = (ROOT / "manifests/scenarios/baseline.yaml").read_bytes()
    key = hashlib.sha256(manifest).hexdigest()[:12]
    complete, partial = (
        tmp_path / "unit/scenarios/baseline" / key / name for name in ("u1", ".u2")
    )
    for folder in (complete, partial):
        folder.mkdir(parents=True)
        (folder / "test.json").write_text("{}")

    def listed(*options: str) -> str:
        assert run(["scenarios", "run", "--list", "baseline", *options]) == 0
        return capsys.readouterr().out.removesuffix("; modes: zookeeper, kraft\n")

    assert listed() == "baseline 1 stored, 1 requested"
    assert listed("--repeat", "2", "--rerun") == "baseline 1 stored, 3 requested"
    images = tmp_path / "unit/images.values.yaml"
    images.write_text("images: other\n")
    assert listed() == "baseline 0 stored, 1 requested"
    # As shell scripts hash them: the images, then the manifest.
    other = hashlib.sha256(images.read_bytes() + manifest).hexdigest()[:12]
    (tmp_path / "unit/scenarios/baseline" / other / "u3").mkdir(parents=True)
    (tmp_path / "unit/scenarios/baseline" / other / "u3/test.json").write_text("{}")
    assert listed() == "baseline 1 stored, 1 requested"


def state(*, phases: tuple[str, ...] = (), faults: tuple[str, ...] = ()) -> Test:
    status = {
        "phases": [{"name": phase} for phase in phases],
        "faults": [{"name": "f", "state": fault} for fault in faults],
    }
    return Test({"status": status})


def test_next_scenario_starts_when_a_fault_is_injected_or_none_is_to_come() -> None:
    """Sooner it would start in the steady state, later it would wait for one that is over."""
    before = {FaultState.PENDING, FaultState.SCHEDULED}
    for fault in FaultState:
        assert next_may_start(state(faults=("Pending", fault.value))) is (fault not in before)
    order = list(Phase)[: list(Phase).index(Phase.DRAINING) + 1]
    for phase in order:
        entered = tuple(str(one.value) for one in order[: order.index(phase) + 1])
        assert next_may_start(state(phases=entered)) is (phase is Phase.DRAINING)


def finished(name: str, phase: str = "Completed", **status: Any) -> dict[str, Any]:
    meta = {"name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-11-21T10:00:00Z"}
    conditions = [{"type": "Finished", "status": "True"}]
    ended = {"phase": phase, "verdict": "Passed", "completionTime": "2026-11-21T10:01:00Z"}
    return {"metadata": meta, "status": ended | {"conditions": conditions} | status}


def cluster(kubectl: FakeKubectl, place: Place, name: str, number: int = 1, **card: Any) -> None:
    """Answer as a cluster on which the scenario runs to its end at once."""
    namespace = f"krt-scenario-{name}-{number}"
    home = place.state / "evidence/pvc-1" / namespace / name / f"uid-{name}"
    home.mkdir(parents=True)
    (home / "scorecard.json").write_text(json.dumps(CARD | card))
    (home / "report.html").write_text("report")
    test = finished(name)
    kubectl.answers(f"{namespace} get krt --watch", event(test), stay=True, always=True)
    kubectl.answers(f"{namespace} get krt", json.dumps(test), always=True)


def test_run_stores_the_result_and_keeps_it(place: Place, kubectl: FakeKubectl) -> None:
    place.add("one")
    cluster(kubectl, place, "one")
    assert place.run("run", "one") == 0
    folder = place.store / "one" / place.key("one") / "uid-one"
    assert sorted(path.name for path in folder.iterdir()) == [
        "one.yaml",
        "report.html",
        "scorecard.json",
        "test.json",
    ]
    assert "| 1 met |" in place.table()
    namespace = "krt-scenario-one-1"
    assert kubectl.calls() == [
        f"delete namespace {namespace} --ignore-not-found --wait --timeout=180s",
        f"create namespace {namespace}",
        f"label namespace {namespace} pod-security.kubernetes.io/enforce=restricted",
        f"--namespace {namespace} apply --filename -",
        f"--namespace {namespace} get krt one --output json",
        f"--namespace {namespace} get krt one --watch --output-watch-events --output json",
        f"--namespace {namespace} get krt one --output json",
        f"delete namespace {namespace} --ignore-not-found --wait=false",
    ]


def test_run_without_evidence_on_this_machine_takes_the_published_scorecard(
    place: Place, kubectl: FakeKubectl
) -> None:
    place.add("one")
    test = finished("one", report={"configMap": "one-scorecard"})
    kubectl.answers("get krt --watch", event(test), stay=True)
    kubectl.answers("get krt", json.dumps(test), always=True)
    published = {"data": {"scorecard.json": json.dumps(CARD)}}
    kubectl.answers("get configmap one-scorecard", json.dumps(published))
    assert place.run("run", "one") == 0
    result = read(place.store / "one" / place.key("one") / "uid-one")
    assert result.outcome is Outcome.MET


def test_run_does_not_repeat_what_is_stored(place: Place, kubectl: FakeKubectl) -> None:
    place.add("one")
    place.ran("one", 1, key=place.key("one"))
    assert place.run("run", "one") == 0
    assert kubectl.calls() == []


def test_run_with_check_judges_every_stored_run_and_writes_no_documents(
    place: Place, kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("one")
    place.ran("one", 1, key=place.key("one"), expectationResults=[expectation("NotMet")])
    cluster(kubectl, place, "one", 2)
    assert place.run("run", "one", "--repeat", "2", "--check") == 1
    assert capsys.readouterr().out.count("one: ") == 2
    assert not place.docs.exists()


def test_rerun_with_check_judges_the_new_runs_alone(
    place: Place, kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("one")
    place.ran("one", 1, key=place.key("one"), expectationResults=[expectation("NotEvaluated")])
    cluster(kubectl, place, "one", 2)
    assert place.run("run", "one", "--rerun", "--check") == 0
    assert capsys.readouterr().out.count("one: met") == 1


def test_run_that_leaves_no_result_fails_the_command(
    place: Place, kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("one")
    place.add("two")
    kubectl.answers("krt-scenario-one-1 apply", code=1, stderr="no such kind")
    cluster(kubectl, place, "two")
    assert place.run("run", "--rerun", "--check", "--parallel", "2") == 4
    assert "no such kind" in capsys.readouterr().err
    # The other worker has finished its own run.
    assert (place.store / "two" / place.key("two") / "uid-two/test.json").exists()
    assert not (place.store / "one").exists()


def test_run_whose_worker_fails_unexpectedly_is_no_success(
    place: Place, kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("one")
    kubectl.answers("get krt --output", "no JSON", always=True)
    assert place.run("run", "one") == ExitCode.COULD_NOT_RUN
    assert "JSONDecodeError" in capsys.readouterr().err


def test_run_that_does_not_end_is_stored_with_its_phase(
    place: Place, kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("one")
    test = finished("one", "Warmup", conditions=[], completionTime=None)
    kubectl.answers("get krt --watch", event(test), stay=True)
    kubectl.answers("get krt", json.dumps(test), always=True)
    assert place.run("run", "one", "--minutes", "0.01") == 0
    assert "did not end" in capsys.readouterr().err
    result = read(place.store / "one" / place.key("one") / "uid-one")
    assert result.outcome is Outcome.DID_NOT_END


def test_parallel_runs_start_one_after_the_other_has_injected(
    place: Place, kubectl: FakeKubectl
) -> None:
    for name in ("one", "two"):
        place.add(name)
        cluster(kubectl, place, name)
    assert place.run("run", "--parallel", "2") == 0
    # Which of the two comes first is not settled; the other starts once it is watched.
    created = [call.split()[-1] for call in kubectl.calls() if call.startswith("create")]
    watched = f"--namespace {created[0]} get krt"
    steps = [call for call in kubectl.calls() if call.startswith(("create", watched))]
    assert any("--watch" in call for call in steps[: steps.index(f"create namespace {created[1]}")])
