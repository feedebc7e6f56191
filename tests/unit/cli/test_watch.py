from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from tests.unit.cli.fake_kubectl import FakeKubectl, event

from krt_cli.errors import CouldNotRunError, ExitCode, KubectlError
from krt_cli.kubectl import Kubectl, documents
from krt_cli.main import run
from krt_cli.resource import Test
from krt_cli.watch.closing import closing
from krt_cli.watch.command import watch
from krt_cli.watch.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

TEST: dict[str, Any] = {
    "metadata": {
        "name": "sample",
        "namespace": "ns",
        "uid": "u1",
        "creationTimestamp": "2026-11-21T04:00:00Z",
    },
    "status": {
        "phase": "Completed",
        "verdict": "Passed",
        "score": 97,
        "summary": "nothing lost",
        "completionTime": "2026-11-21T04:03:00.000000Z",
        "phases": [
            {
                "name": "Pending",
                "startTime": "2026-11-21T04:00:01.000000Z",
                "endTime": "2026-11-21T04:00:03.000000Z",
            },
            {"name": "Completed", "startTime": "2026-11-21T04:03:00.000000Z"},
        ],
        "faults": [
            {
                "name": "leader-down",
                "injectedAt": "2026-11-21T04:01:00.500000Z",
                "targets": [{"member": "kafka-1", "zone": "zone-b"}],
                "observations": [
                    {"kind": "IsrShrank", "subject": "__consumer_offsets-0", "at": None},
                    {"kind": "IsrShrank", "subject": "foo-0", "at": None, "detail": "[1, 2]"},
                    {"kind": "LeaderMoved", "subject": "foo-0", "at": None},
                ],
            }
        ],
        "ledger": {"attempted": 10, "acked": 10},
        "conditions": [
            {
                "type": "Finished",
                "status": "True",
                "reason": "Completed",
                "lastTransitionTime": "2026-11-21T04:03:00Z",
            },
            {
                "type": "Scored",
                "status": "True",
                "reason": "VerdictReached",
                "lastTransitionTime": "2026-11-21T04:02:59Z",
            },
            {"type": "Succeeded", "status": "Unknown", "lastTransitionTime": "x"},
        ],
    },
}


def changed(**status: Any) -> dict[str, Any]:
    return {**TEST, "status": {**TEST["status"], **status}}


def lines(test: dict[str, Any], evidence: Path | None = None) -> list[str]:
    return [f"{label:14}{text}" for label, text in closing(Test(test), evidence)]


def console() -> Console:
    return Console(highlight=False, soft_wrap=True)


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("between", ["\n", "", "\n\n  "])
def test_documents_concatenated_are_split_wherever_the_chunks_end(size: int, between: str) -> None:
    text = f'{{"a": {{"b": 1}},\n "ü}}": "{{"}}{between}{{"c": 2}}{between}'.encode()
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    assert list(documents(chunks)) == [{"a": {"b": 1}, "ü}": "{"}, {"c": 2}]


def test_documents_incomplete_at_the_end_raise() -> None:
    found = documents([b'{"a": 1}{"b"'])
    assert next(found) == {"a": 1}
    with pytest.raises(KubectlError, match="ends within a document"):
        next(found)


def test_progress_lines_are_in_order_of_time_and_printed_once() -> None:
    progress = Progress()
    assert list(progress.lines(Test(TEST))) == [
        "    1.0 s  phase Pending",
        "   60.5 s    IsrShrank: foo-0 [1, 2] (and 1 more)",
        "   60.5 s    LeaderMoved: foo-0",
        "   60.5 s  fault leader-down injected: kafka-1 (zone-b)",
        "  179.0 s    Scored=True VerdictReached",
        "  180.0 s  phase Completed",
        "  180.0 s    Finished=True Completed",
    ]
    assert list(progress.lines(Test(TEST))) == []


def test_progress_condition_that_returns_is_printed_again() -> None:
    progress = Progress()
    printed: list[str] = []
    for second, status in ((10, "True"), (20, "False"), (30, "True")):
        condition = {
            "type": "TrafficEstablished",
            "status": status,
            "reason": "R",
            "lastTransitionTime": f"2026-11-21T04:00:{second}Z",
        }
        test = Test({"metadata": TEST["metadata"], "status": {"conditions": [condition]}})
        printed += [*progress.lines(test), *progress.lines(test)]
    assert [line.split()[-2] for line in printed] == [
        "TrafficEstablished=True",
        "TrafficEstablished=False",
        "TrafficEstablished=True",
    ]


def test_closing_names_times_ledger_verdict_and_evidence(tmp_path: Path) -> None:
    home = tmp_path / "pvc-1_ns_krt-evidence" / "ns" / "sample" / "u1"
    home.mkdir(parents=True)
    text = "\n".join(lines(TEST, tmp_path))
    assert "phases        Pending 2 s" in text
    assert "total         180 s" in text
    assert "ledger        attempted 10, acked 10" in text
    assert "verdict       Passed, score 97" in text
    assert f"evidence      {home}" in text
    assert f"report        {home / 'report.html'}" in text


def test_closing_without_local_evidence_names_its_place_on_the_volume(tmp_path: Path) -> None:
    test = changed(report={"path": "ns/sample/u1", "configMap": "sample-scorecard"})
    for evidence in (None, tmp_path):
        text = "\n".join(lines(test, evidence))
        assert "evidence      krt evidence sample --namespace ns -o sample" in text
        assert "scorecard     configmap/sample-scorecard" in text


def test_closing_of_a_test_that_was_not_scored_names_no_report(tmp_path: Path) -> None:
    """An aborted one has evidence, and so has one whose scoring failed."""
    (tmp_path / "pvc-1_ns_krt-evidence/ns/sample/u1").mkdir(parents=True)
    test = changed(report={"path": "ns/sample/u1"}, conditions=[])
    for evidence in (None, tmp_path):
        text = "\n".join(lines(test, evidence))
        assert "evidence      " in text
        assert "report        " not in text


def test_closing_names_expectations_not_met() -> None:
    assert "expectations" not in "\n".join(lines(TEST))
    test = changed(expectationResults={"met": 3, "notMet": ["loss", "nodeSpread"]})
    found = [line for line in lines(test) if line.startswith("expectations")]
    assert found == ["expectations  3 met; not met: loss, nodeSpread"]


def test_closing_names_inconclusive_reasons_and_self_test() -> None:
    test = changed(
        inconclusiveReasons=[{"code": "FaultNotVerified", "message": "no effect was observed"}],
        selfTest={"detected": 4, "total": 5},
    )
    text = "\n".join(lines(test))
    assert "inconclusive  FaultNotVerified: no effect was observed" in text
    assert "self-test     4 of 5 corruptions detected" in text


def test_watch_ends_with_the_test_although_kubectl_does_not(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get krt", event(TEST), stay=True)
    assert run(["watch", "sample", "-n", "ns"]) == ExitCode.PASSED
    assert "verdict       Passed, score 97" in capsys.readouterr().out
    arguments = "--namespace ns get krt sample --watch --output-watch-events --output json"
    assert kubectl.calls() == [arguments]
    (pid,) = kubectl.pids()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("Passed", 0), ("Failed", 1), ("Degraded", 2), ("Inconclusive", 3), ("Pending", 3)],
)
def test_watch_exit_code_follows_the_verdict(kubectl: FakeKubectl, verdict: str, code: int) -> None:
    kubectl.answers("get krt", event(changed(verdict=verdict)))
    assert run(["watch", "sample"]) == code


def test_watch_of_a_test_that_could_not_run_ends_with_4_whatever_is_accepted(
    kubectl: FakeKubectl,
) -> None:
    kubectl.answers("get krt", event(changed(phase="Error", verdict="Inconclusive")))
    assert run(["watch", "sample", "--accept", "Inconclusive"]) == ExitCode.COULD_NOT_RUN


@pytest.mark.usefixtures("quick")
def test_watch_that_the_server_ends_is_started_again(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    running = changed(conditions=[], phase="Pending")
    kubectl.answers("get krt", event(running))
    kubectl.answers("get krt", event(TEST))
    assert watch(Kubectl("ns"), "sample", None, console()) == ExitCode.PASSED
    assert len(kubectl.calls()) == 2
    assert capsys.readouterr().out.count("phase Pending") == 1


def test_watch_of_an_unknown_test_ends_with_the_error_of_kubectl(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get krt", "", code=1, stderr='krt "sample" not found')
    assert run(["watch", "sample"]) == ExitCode.COULD_NOT_RUN
    assert 'krt "sample" not found' in capsys.readouterr().err


@pytest.mark.usefixtures("quick")
def test_watch_that_keeps_failing_is_given_up(kubectl: FakeKubectl) -> None:
    kubectl.answers("get krt", event(changed(conditions=[])))
    kubectl.answers("get krt", "", code=1, stderr="connection refused", always=True)
    states = Kubectl("ns").states("sample", attempts=3)
    assert next(states)["metadata"]["name"] == "sample"
    with pytest.raises(KubectlError, match="connection refused"):
        list(states)
    assert len(kubectl.calls()) == 3


@pytest.mark.usefixtures("quick")
def test_watch_whose_connection_was_lost_is_started_again(kubectl: FakeKubectl) -> None:
    lost = {"kind": "Status", "status": "Failure", "message": "http2: client connection lost"}
    kubectl.answers("get krt", event(changed(conditions=[])) + event(lost, "ERROR"), stay=True)
    kubectl.answers("get krt", event(TEST), stay=True)
    assert run(["watch", "sample", "-n", "ns"]) == ExitCode.PASSED
    assert len(kubectl.calls()) == 2


@pytest.mark.usefixtures("quick")
def test_watch_whose_connections_are_all_lost_says_so(kubectl: FakeKubectl) -> None:
    lost = {"kind": "Status", "status": "Failure", "message": "http2: client connection lost"}
    kubectl.answers("get krt", event(lost, "ERROR"), always=True)
    with pytest.raises(KubectlError, match="client connection lost"):
        list(Kubectl("ns").states("sample", attempts=3))


def test_watch_of_a_test_deleted_meanwhile_ends(kubectl: FakeKubectl) -> None:
    states = event(changed(conditions=[])) + event(TEST, "DELETED")
    kubectl.answers("get krt", states, stay=True)
    with pytest.raises(CouldNotRunError, match="was deleted"):
        watch(Kubectl("ns"), "sample", None, console())


def test_watch_without_kubectl_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["watch", "sample"]) == ExitCode.COULD_NOT_RUN
    assert "kubectl is not on PATH" in capsys.readouterr().err


def test_watch_with_a_kubectl_that_may_not_be_executed_names_the_remedy(
    kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (kubectl.folder / "kubectl").chmod(0o644)
    monkeypatch.setenv("PATH", str(kubectl.folder))
    assert run(["watch", "sample"]) == ExitCode.COULD_NOT_RUN
    assert "kubectl on PATH" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["watch"], ["nonesuch"], ["watch", "a", "--nonesuch"]])
def test_run_with_wrong_arguments_is_not_taken_for_a_failed_verdict(arguments: list[str]) -> None:
    assert run(arguments) == ExitCode.COULD_NOT_RUN


def test_watch_help_documents_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "0 Passed, 1 Failed, 2 Degraded, 3 Inconclusive" in text
    assert "4 where the test could not run" in text


def _waiting(reason: str, message: str) -> Test:
    condition = {
        "type": "Provisioned",
        "status": "Unknown",
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-21T04:00:01Z",
    }
    return Test(TEST | {"status": {"phase": "Pending", "conditions": [condition]}})


def test_progress_says_what_a_test_waits_for_whenever_that_changes() -> None:
    progress = Progress()
    now = datetime(2026, 11, 21, 4, 0, 9, tzinfo=UTC)
    queued = _waiting("Queued", "tests ahead in the queue: 2")
    assert list(progress.lines(queued, now)) == [
        "    9.0 s    waits: Queued: tests ahead in the queue: 2"
    ]
    assert not list(progress.lines(queued, now))
    strained = _waiting("NodesUnderPressure", "the members do not fit")
    (line,) = progress.lines(strained, now)
    assert line.endswith("waits: NodesUnderPressure: the members do not fit")
    assert not [line for line in progress.lines(Test(TEST), now) if "waits" in line]
