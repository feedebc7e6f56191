"""Running, listing and aborting tests, against a kubectl that gives prepared answers."""

from __future__ import annotations

import io
import json
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cli.fake_kubectl import FakeKubectl, event

from krt_cli import main
from krt_cli.errors import CouldNotRunError, ExitCode
from krt_cli.main import run
from krt_cli.manifest import Manifest
from krt_cli.options import new_console

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: beside}
---
apiVersion: kafkaresilience.dev/v1alpha1
kind: KafkaResilienceTest
metadata: {name: sample}
spec: {}
"""


def state(**status: Any) -> dict[str, Any]:
    """Return a test that has ended, with this status."""
    ended = {
        "phase": "Completed",
        "verdict": "Passed",
        "score": 97,
        "completionTime": "2026-11-21T04:03:00Z",
        "conditions": [{"type": "Finished", "status": "True", "lastTransitionTime": "x"}],
    }
    ended["conditions"][0]["lastTransitionTime"] = "2026-11-21T04:03:00Z"  # type: ignore[index]
    metadata_ = {
        "name": "sample",
        "namespace": "ns",
        "uid": "u1",
        "creationTimestamp": "2026-11-21T04:00:00Z",
    }
    return {"metadata": metadata_, "status": ended | status}


RUNNING = state(phase="Warmup", verdict="Pending", conditions=[], completionTime=None)


def test_defect_of_a_command_is_not_taken_for_a_failed_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise AttributeError("no such thing")

    monkeypatch.setattr(main, "watch_test", fail)
    assert run(["watch", "sample"]) == ExitCode.COULD_NOT_RUN
    error = capsys.readouterr().err
    assert "AttributeError: no such thing" in error
    assert error.endswith("error: a defect of krt; report it with the lines above\n")


def test_text_between_colons_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    new_console().print("[fd00:10:96:a::1]:9092", markup=False)
    assert capsys.readouterr().out == "[fd00:10:96:a::1]:9092\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "test.yaml"
    path.write_text(MANIFEST)
    return path


@pytest.mark.parametrize(
    ("verdict", "accept", "code"),
    [
        ("Passed", (), ExitCode.PASSED),
        ("Failed", (), ExitCode.FAILED),
        ("Degraded", (), ExitCode.DEGRADED),
        ("Degraded", ("Degraded",), ExitCode.PASSED),
        ("Failed", ("Degraded",), ExitCode.FAILED),
        ("Inconclusive", ("Degraded", "Inconclusive"), ExitCode.PASSED),
    ],
)
def test_run_applies_the_file_and_ends_with_the_verdict(
    kubectl: FakeKubectl, file: Path, verdict: str, accept: tuple[str, ...], code: int
) -> None:
    kubectl.answers("get --ignore-not-found")
    kubectl.answers("apply", "kafkaresilience.dev/sample created")
    kubectl.answers("get --watch", event(RUNNING) + event(state(verdict=verdict)), stay=True)
    options = [part for name in accept for part in ("--accept", name)]
    assert run(["run", str(file), "-n", "ns", *options]) == code
    assert (kubectl.home / "stdin").read_text() == MANIFEST
    assert [call.split()[2] for call in kubectl.calls()] == ["get", "apply", "get"]


def test_run_of_a_test_that_has_ended_is_refused_with_the_remedy(
    kubectl: FakeKubectl, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get --ignore-not-found", json.dumps(state()))
    assert run(["run", str(file)]) == ExitCode.COULD_NOT_RUN
    assert "has ended already" in (error := capsys.readouterr().err)
    assert "--replace" in error
    assert len(kubectl.calls()) == 1


def test_run_replacing_deletes_the_old_test_first(kubectl: FakeKubectl, file: Path) -> None:
    kubectl.answers("get --ignore-not-found", json.dumps(state()))
    kubectl.answers("delete")
    kubectl.answers("apply", "created")
    kubectl.answers("get --watch", event(state()), stay=True)
    assert run(["run", str(file), "--replace"]) == ExitCode.PASSED
    assert [call.split()[0] for call in kubectl.calls()] == ["get", "delete", "apply", "get"]


def test_run_of_a_test_that_is_running_follows_it(kubectl: FakeKubectl, file: Path) -> None:
    kubectl.answers("get --ignore-not-found", json.dumps(RUNNING))
    kubectl.answers("apply", "unchanged")
    kubectl.answers("get --watch", event(state()), stay=True)
    assert run(["run", str(file)]) == ExitCode.PASSED


def test_run_refused_by_the_api_server_shows_its_words(
    kubectl: FakeKubectl, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get --ignore-not-found")
    kubectl.answers("apply", code=1, stderr="spec.topics: Required value")
    assert run(["run", str(file)]) == ExitCode.COULD_NOT_RUN
    assert "spec.topics: Required value" in capsys.readouterr().err


def test_run_takes_the_namespace_of_the_file(
    kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = MANIFEST.replace("{name: sample}", "{name: sample, namespace: theirs}")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    kubectl.answers("get --ignore-not-found")
    kubectl.answers("apply", "created")
    kubectl.answers("get --watch", event(state()), stay=True)
    assert run(["run", "-"]) == ExitCode.PASSED
    assert all(call.startswith("--namespace theirs ") for call in kubectl.calls())


def test_run_interrupted_says_that_the_test_goes_on(
    kubectl: FakeKubectl,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kubectl.answers("get --ignore-not-found")

    def interrupt(*_: object, **__: object) -> ExitCode:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "run_test", interrupt)
    assert run(["run", str(file)]) == ExitCode.INTERRUPTED
    error = capsys.readouterr().err
    assert "krt watch sample" in error
    assert "krt abort sample" in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "is not YAML"),
        ("", "holds no KafkaResilienceTest"),
        ("kind: Pod", "holds no KafkaResilienceTest"),
        ("just text", "holds no KafkaResilienceTest"),
        (MANIFEST + "---" + MANIFEST, "holds 2 KafkaResilienceTests"),
        ("kind: KafkaResilienceTest", "no metadata.name"),
    ],
)
def test_manifest_without_one_named_test_is_refused(text: str, message: str) -> None:
    with pytest.raises(CouldNotRunError, match=message):
        Manifest(text, "test.yaml")


def test_manifest_of_a_list_finds_its_test() -> None:
    items = [{"kind": "ConfigMap"}, {"kind": "KafkaResilienceTest", "metadata": {"name": "one"}}]
    assert Manifest(json.dumps({"kind": "List", "items": items}), "list.json").name == "one"


def test_run_of_a_missing_file_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(tmp_path / "none.yaml")]) == ExitCode.COULD_NOT_RUN
    assert "none.yaml cannot be read" in capsys.readouterr().err


def test_list_shows_the_latest_first_and_unknown_numbers_as_such(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    older, newer = state(ledger={"lost": 3}, summary="3 lost"), state(score=None)
    newer["metadata"] = newer["metadata"] | {
        "name": "newer",
        "creationTimestamp": "2026-11-21T05:00:00Z",
    }
    kubectl.answers("get --all-namespaces", json.dumps({"items": [older, newer]}))
    assert run(["list", "-A"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0][:4] == ["NAMESPACE", "NAME", "PHASE", "VERDICT"]
    assert lines[1][1] == "newer"
    assert lines[1][4:6] == ["-", "-"]
    assert lines[2] == ["ns", "sample", "Completed", "Passed", "97", "3", "3m00s", "3", "lost"]


def test_list_of_long_names_cuts_nothing_where_the_terminal_is_narrow(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    test = state(summary="9 records lost, as the configuration permits")
    test["metadata"] = test["metadata"] | {"namespace": "a-namespace-with-a-long-name"}
    kubectl.answers("get", json.dumps({"items": [test]}))
    assert run(["list"]) == 0
    _, line = capsys.readouterr().out.splitlines()
    assert line.startswith("a-namespace-with-a-long-name  sample  Completed  Passed   97 ")
    assert line.endswith("3m00s  9 records lost, as the configuration permits")


def test_list_as_json_is_for_programs(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get", json.dumps({"items": [RUNNING]}))
    assert run(["list", "-o", "json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)
    assert item["verdict"] is None
    assert item["lost"] is None
    assert item["seconds"] > 0


def test_list_without_a_test_says_where_it_looked(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get", json.dumps({"items": []}))
    assert run(["list", "-n", "empty"]) == 0
    assert "no KafkaResilienceTest in namespace empty" in capsys.readouterr().out


def test_abort_asks_for_it_and_waits_for_the_end(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get --watch", event(RUNNING) + event(state(phase="Aborted")), stay=True)
    kubectl.answers("get --output", json.dumps(RUNNING))
    kubectl.answers("patch")
    assert run(["abort", "sample"]) == 0
    assert "sample: Aborted" in capsys.readouterr().out
    assert any('--patch={"spec": {"abort": true}}' in call for call in kubectl.calls())


def test_abort_without_waiting_returns_at_once(kubectl: FakeKubectl) -> None:
    kubectl.answers("get", json.dumps(RUNNING))
    kubectl.answers("patch")
    assert run(["abort", "sample", "--no-wait"]) == 0
    assert len(kubectl.calls()) == 2


def test_abort_of_a_test_that_has_ended_is_refused(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get", json.dumps(state()))
    assert run(["abort", "sample"]) == ExitCode.COULD_NOT_RUN
    assert "has ended already (Completed)" in capsys.readouterr().err
    assert len(kubectl.calls()) == 1


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"krt {metadata.version('krt-cli')}\n"
