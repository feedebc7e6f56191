"""Scoring on this machine: Java, the scorer, checksums, exit codes."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from krt_cli import score as module
from krt_cli.errors import CouldNotRunError, ExitCode
from krt_cli.main import run

if TYPE_CHECKING:
    from pathlib import Path


PYTHON = sys.executable


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{PYTHON}\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder first on PATH, with a Java 17 that prints its version; no scorer beside Python."""
    folder = tmp_path / "bin"
    java = "import sys; sys.stderr.write('openjdk version \"17.0.9\" 2023-10-17')"
    program(folder, "java", java)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere/python"))
    return folder


def scorer(folder: Path, verdict: str) -> None:
    card = json.dumps({"verdict": verdict})
    program(
        folder,
        "krt-score",
        "import pathlib, sys\n"
        f"(pathlib.Path(sys.argv[1]) / 'scorecard.json').write_text({card!r})\n"
        f"print('{verdict}: summary', *sys.argv[2:])",
    )


@pytest.mark.parametrize(
    ("verdict", "accept", "code"),
    [
        ("Passed", (), ExitCode.PASSED),
        ("Failed", (), ExitCode.FAILED),
        ("Degraded", ("--accept", "Degraded"), ExitCode.PASSED),
        ("Inconclusive", (), ExitCode.INCONCLUSIVE),
    ],
)
def test_score_ends_with_the_verdict(
    tools: Path, tmp_path: Path, verdict: str, accept: tuple[str, ...], code: int
) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    scorer(tools, verdict)
    assert run(["score", str(bundle), *accept]) == code


@pytest.mark.parametrize(
    ("verdicts", "accept", "code"),
    [
        (("Passed", "Degraded"), (), ExitCode.DEGRADED),
        (("Failed", "Inconclusive", "Passed"), (), ExitCode.FAILED),
        (("Inconclusive", "Degraded"), (), ExitCode.INCONCLUSIVE),
        (("Passed", "Failed"), ("--accept", "Failed"), ExitCode.PASSED),
    ],
)
def test_score_of_several_ends_with_the_worst_verdict(
    tools: Path,
    tmp_path: Path,
    verdicts: tuple[str, ...],
    accept: tuple[str, ...],
    code: int,
) -> None:
    bundles = [tmp_path / f"{number}-{verdict}" for number, verdict in enumerate(verdicts)]
    for bundle in bundles:
        bundle.mkdir()
    program(
        tools,
        "krt-score",
        "import json, pathlib, sys\n"
        "for path in map(pathlib.Path, sys.argv[1:]):\n"
        "    verdict = path.name.split('-')[1]\n"
        "    (path / 'scorecard.json').write_text(json.dumps({'verdict': verdict}))\n"
        "    print(f'{path}: {verdict}: summary')",
    )
    assert run(["score", *map(str, bundles), *accept]) == code


def test_score_of_several_where_one_fails_prints_the_others(
    tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scorecard.json").write_text('{"verdict": "Passed"}')
    script = "import sys\nprint('a: Passed: summary')\nsys.stderr.write('no b')\nsys.exit(2)"
    program(tools, "krt-score", script)
    code = run(["score", str(tmp_path / "a"), str(tmp_path / "b")])
    assert code == ExitCode.COULD_NOT_RUN
    output = capsys.readouterr()
    assert "a: Passed: summary" in output.out
    assert "exit code 2: no b" in output.err


def test_score_of_many_names_the_first_while_it_works(
    tools: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "abcde":
        (tmp_path / name).mkdir()
        (tmp_path / name / "scorecard.json").write_text('{"verdict": "Passed"}')
    program(tools, "krt-score", "")
    assert run(["score", *"abcde"]) == 0
    assert "scoring a, b, c and 2 more" in "".join(capsys.readouterr())


def test_score_passes_its_options_on(
    tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    scorer(tools, "Passed")
    assert run(["score", str(bundle), "--self-test", "--driver-memory", "2g"]) == 0
    assert "Passed: summary --self-test --driver-memory 2g" in capsys.readouterr().out


def test_score_of_changed_evidence_does_not_start_the_scorer(
    tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64}  run.json\n")
    scorer(tools, "Passed")
    assert run(["score", str(tmp_path)]) == ExitCode.COULD_NOT_RUN
    assert "run.json is missing" in capsys.readouterr().err
    assert not (tmp_path / "scorecard.json").exists()


def test_score_without_scorer_says_how_to_install_it(
    tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tools.is_dir()
    assert run(["score", str(tmp_path)]) == ExitCode.COULD_NOT_RUN
    assert "uv tool install './cli[score]'" in capsys.readouterr().err


def test_score_that_fails_repeats_the_scorers_words(
    tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(tools, "krt-score", "import sys\nsys.stderr.write('no bundle')\nsys.exit(2)")
    assert run(["score", str(tmp_path)]) == ExitCode.COULD_NOT_RUN
    assert "exit code 2: no bundle" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("print('openjdk version \"11.0.1\"')", "needs Java 17 or later"),
        ("print('nothing')", "does not say its version"),
    ],
)
def test_require_java_too_old_or_silent_says_how_to_get_it(
    tools: Path, script: str, message: str
) -> None:
    program(tools, "java", script)
    with pytest.raises(CouldNotRunError, match=message) as caught:
        module.require_java()
    assert "apt-get install" in caught.value.remedy


def test_require_java_missing_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(CouldNotRunError, match="cannot be run") as caught:
        module.require_java()
    assert "brew install" in caught.value.remedy


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a browser was asked to open."""
    urls: list[str] = []

    def note(url: str) -> bool:
        urls.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", note)
    return urls


def reporter(folder: Path) -> None:
    """A scorer that also writes a report, whose text is the run's plan."""
    program(
        folder,
        "krt-score",
        "import pathlib, sys\n"
        "bundle = pathlib.Path(sys.argv[1])\n"
        "(bundle / 'scorecard.json').write_text('{\"verdict\": \"Passed\"}')\n"
        "(bundle / 'report.html').write_text((bundle / 'run.json').read_text())",
    )


def test_score_sample_scores_the_recorded_run_and_says_where_the_report_is(
    tools: Path,
    tmp_path: Path,
    opened: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reporter(tools)
    monkeypatch.chdir(tmp_path)
    assert run(["score", "--sample"]) == ExitCode.PASSED
    report = tmp_path / "leader-crash/report.html"
    assert "/leader-crash/" in json.loads(report.read_text())["bundle"]
    assert list((tmp_path / "leader-crash/produce").glob("*.parquet"))
    output = capsys.readouterr().out
    assert "report:    leader-crash/report.html" in output
    assert "scorecard: leader-crash/scorecard.json" in output
    assert opened == []


def test_score_sample_again_into_a_named_folder_opens_its_report(
    tools: Path, tmp_path: Path, opened: list[str]
) -> None:
    reporter(tools)
    folder = tmp_path / "first/look"
    for _ in range(2):
        assert run(["score", "--sample", str(folder), "--open"]) == ExitCode.PASSED
    assert opened == [(folder / "report.html").as_uri()] * 2


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (("notes.txt", "mine"), "is not empty and holds no evidence"),
        (("run.json", '{"bundle": "ns/other/uid"}'), "holds the evidence of another run"),
    ],
)
def test_score_sample_into_a_folder_of_something_else_leaves_it_alone(
    tools: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    file: tuple[str, str],
    message: str,
) -> None:
    reporter(tools)
    name, text = file
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / name).write_text(text)
    assert run(["score", "--sample", str(folder)]) == ExitCode.COULD_NOT_RUN
    assert message in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == [name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --sample"),
        (["--sample", "a", "b"], "takes one folder"),
        (["a", "--out", "card.json", "--open"], "writes no report"),
    ],
)
def test_score_with_wrong_arguments_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["score", *arguments]) == ExitCode.COULD_NOT_RUN
    assert message in " ".join(capsys.readouterr().err.split())


def test_score_opens_no_report_where_none_was_written(
    tools: Path, tmp_path: Path, opened: list[str]
) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    scorer(tools, "Passed")
    assert run(["score", str(bundle), "--open"]) == ExitCode.PASSED
    assert opened == []
