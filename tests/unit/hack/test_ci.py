"""hack/ci-run, the action that calls it, and the workflows."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

REPO = Path(__file__).parents[3]
VERDICTS = {"Passed": 0, "Failed": 1, "Degraded": 2, "Inconclusive": 3}

KRT = """#!/usr/bin/env bash
echo "$*" >>"$CALLS"
case $1 in
  doctor) exit "${DOCTOR:-0}" ;;
  run)
    if ((RUN == 4)); then echo 'error: refused' >&2; exit 4; fi
    echo 'kafkaresiliencetest.kafkaresilience.dev/sample created'
    exit "$RUN"
    ;;
  explain) echo 'why it is so' ;;
  report)
    mkdir -p "${@: -1}"
    echo '<html>' >"${@: -1}/report.html"
    printf '{\\n "verdict": "Degraded"\\n}\\n' >"${@: -1}/scorecard.json"
    ;;
esac
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with a krt and a kubectl that record their calls."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {"krt": KRT, "kubectl": "#!/bin/sh\necho kubectl:$*\n"}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (tmp_path / "test.yaml").write_text("kind: KafkaResilienceTest\n")
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "KRT": str(folder / "krt"),
        "CALLS": str(tmp_path / "calls"),
        "KRT_CACHE": str(tmp_path / "cache"),
        "KRT_STATE": str(tmp_path / "state"),
        "RUN": "0",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }


def ci_run(home: dict[str, str], tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(str(REPO / "hack/ci-run"), "--installed", "--out", str(tmp_path / "out"), *options),
            str(tmp_path / "test.yaml"),
        ],
        env=home,
        capture_output=True,
        text=True,
        check=False,
    )


def test_ci_run_keeps_nothing_of_an_earlier_test(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for name in ("scorecard.json", "report.html", "summary.md", "mine.txt"):
        (tmp_path / "out" / name).write_text("earlier")
    assert ci_run(home | {"RUN": "4"}, tmp_path).returncode == 4
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"run.log", "mine.txt"}


@pytest.mark.parametrize("code", VERDICTS.values())
def test_ci_run_ends_with_the_verdict_and_keeps_what_there_is(
    home: dict[str, str], tmp_path: Path, code: int
) -> None:
    done = ci_run(home | {"RUN": str(code)}, tmp_path, "--accept", "Degraded", "--evidence")
    assert done.returncode == code, done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["doctor", "run", "explain", "report", "evidence"]
    assert calls[1].endswith("--namespace krt-ci --replace --accept Degraded")
    kept = {path.name for path in (tmp_path / "out").iterdir()}
    assert kept >= {"run.log", "explain.txt", "report.html", "resource.yaml"}
    assert "why it is so" in (tmp_path / "summary").read_text()


def test_ci_run_that_could_not_run_ends_with_4(home: dict[str, str], tmp_path: Path) -> None:
    assert ci_run(home | {"RUN": "4"}, tmp_path).returncode == 4
    assert "refused" in (tmp_path / "out/run.log").read_text()


def test_ci_run_with_a_blocker_does_not_run_the_test(home: dict[str, str], tmp_path: Path) -> None:
    assert ci_run(home | {"DOCTOR": "4"}, tmp_path).returncode == 4
    calls = (tmp_path / "calls").read_text().split("\n")
    assert [call.split()[0] for call in calls if call] == ["doctor"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--nothing",), "no option --nothing"),
        (("--accept",), "needs a value"),
        (("none.yaml",), "there is no file none.yaml"),
        ((), "name the file"),
    ],
)
def test_ci_run_with_wrong_arguments_says_how_it_is_called(
    home: dict[str, str], options: tuple[str, ...], message: str
) -> None:
    command = [str(REPO / "hack/ci-run"), *options]
    done = subprocess.run(command, env=home, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert message in done.stderr
    assert "remedy: hack/ci-run" in done.stderr


@pytest.mark.parametrize(
    ("status", "verdict"),
    [("  phase: Aborted\n  verdict: Inconclusive\n", "Inconclusive"), ("  phase: Pending\n", "")],
)
def test_ci_action_of_a_test_without_a_scorecard_takes_the_verdict_of_the_resource(
    home: dict[str, str], tmp_path: Path, status: str, verdict: str
) -> None:
    (tmp_path / "resource").write_text(f"kind: KafkaResilienceTest\nstatus:\n{status}")
    ci = tmp_path / "ci-run"
    ci.write_text(f'#!/bin/sh\nmkdir "$OUT"\ncp {tmp_path}/resource "$OUT/resource.yaml"\nexit 3\n')
    ci.chmod(0o755)
    inputs = {
        "FILE": "test.yaml",
        "OUT": str(tmp_path / "out"),
        "CI_RUN": str(ci),
        "GITHUB_OUTPUT": str(tmp_path / "outputs"),
    }
    command = [str(REPO / "hack/ci-action")]
    assert subprocess.run(command, env=home | inputs, check=False).returncode == 3
    assert (tmp_path / "outputs").read_text().splitlines() == [f"verdict={verdict}", "exit-code=3"]


def test_ci_action_passes_inputs_on_and_gives_outputs(home: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    inputs = {
        "FILE": str(tmp_path / "test.yaml"),
        "OUT": str(out),
        "ACCEPT": "Degraded Inconclusive",
        "INSTALLED": "true",
        "RUN": "2",
        "GITHUB_OUTPUT": str(tmp_path / "outputs"),
    }
    command = [str(REPO / "hack/ci-action")]
    done = subprocess.run(command, env=home | inputs, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert (tmp_path / "outputs").read_text().splitlines() == [
        "verdict=Degraded",
        "exit-code=2",
        f"report={out}/report.html",
    ]
    run = (tmp_path / "calls").read_text().splitlines()[1]
    assert "--accept Degraded --accept Inconclusive" in run


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((REPO / "action.yml").read_text())
    return found


def test_action_uses_each_of_its_inputs() -> None:
    text = (REPO / "action.yml").read_text()
    used = set(re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", text))
    assert used == set(action()["inputs"])


WORKFLOWS = sorted((REPO / ".github/workflows").glob("*.yaml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_scripts_that_workflows_run_exist_and_can_be_executed(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text())["jobs"]
    commands = [
        step["run"].split()
        for job in jobs.values()
        for step in job["steps"]
        if step.get("run", "").startswith((".ci/", "hack/"))
    ]
    assert commands
    for program, *_ in commands:
        assert os.access(REPO / program, os.X_OK), program


def test_release_workflow_runs_every_step_of_the_script() -> None:
    steps = set(
        re.findall(r"hack/release (\w+)", (REPO / ".github/workflows/release.yaml").read_text())
    )
    script = (REPO / "hack/release").read_text()
    assert steps == set(re.findall(r"^#   hack/release (\w+)", script, flags=re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_has_no_more_rights_than_it_says(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
