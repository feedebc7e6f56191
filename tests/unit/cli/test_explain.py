"""Explaining a verdict from status and scorecard, with the remedies of the table of reasons."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_cli.advice import findings
from krt_cli.main import run
from krt_contract.reasons import REASONS

if TYPE_CHECKING:
    import pytest
    from tests.unit.cli.fake_kubectl import FakeKubectl

CARD: dict[str, Any] = {
    "verdict": "Inconclusive",
    "inconclusiveReasons": [
        {
            "code": "ClocksDisagree",
            "kind": "evidence",
            "subject": "node-1",
            "message": "the clocks differ by 3 s",
        }
    ],
    "anomalies": {
        "lost-write": {"unit": "records", "count": 3, "permitted": 0, "violations": 3, "void": 1},
        "duplicate-write": {
            "unit": "records",
            "count": 2,
            "permitted": 2,
            "violations": 0,
            "rules": {"retries-without-idempotence": 2},
        },
        "key-order": {"unit": "records", "count": 4, "permitted": 0, "violations": 4, "void": 4},
        "unseen": {"unit": "records", "count": 0, "permitted": 0, "violations": 0},
    },
    "objectives": [
        {
            "name": "maxWriteUnavailability",
            "limit": 5_000_000,
            "value": 8_250_000,
            "met": False,
            "unit": "us",
        },
        {"name": "lostRecords", "limit": 0, "value": 0, "met": True, "unit": "records"},
    ],
    "expectationResults": [
        {
            "expectation": "leaderChanges",
            "expected": "at least 1",
            "observed": "0",
            "result": "NotMet",
        },
        {"expectation": "loss", "expected": "0", "observed": "0", "result": "Met"},
    ],
}


def resource(**status: Any) -> str:
    ended = {
        "phase": "Completed",
        "verdict": "Inconclusive",
        "summary": "3 lost",
        "report": {"path": "ns/sample/u1", "configMap": "sample-scorecard"},
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
        ],
    }
    metadata = {
        "name": "sample",
        "namespace": "ns",
        "uid": "u1",
        "creationTimestamp": "2026-11-21T04:00:00Z",
    }
    return json.dumps({"metadata": metadata, "status": ended | status})


def explained(kubectl: FakeKubectl, *options: str) -> int:
    kubectl.answers(
        "get configmap sample-scorecard",
        json.dumps({"data": {"scorecard.json": json.dumps(CARD)}}),
    )
    return run(["explain", "sample", *options])


def test_explain_names_each_cause_with_its_remedy_and_the_next_command(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get krt", resource())
    assert explained(kubectl) == 0
    text = capsys.readouterr().out
    assert text.startswith("sample: Completed, Inconclusive\n3 lost\n")
    assert "inconclusive: ClocksDisagree: node-1: the clocks differ by 3 s" in text
    assert f"what to do: {REASONS['ClocksDisagree'].remedy}" in text
    assert "violation: lost-write: 2 records (and 1 void)" in text
    assert "not judged: key-order: 4 records" in text
    assert "permitted by the configuration: duplicate-write: 2 records by retries-without" in text
    assert "objective missed: maxWriteUnavailability: 8.25 s, the limit is 5.00 s" in text
    assert "expectation leaderChanges NotMet: expected at least 1; observed 0" in text
    assert "unseen" not in text
    assert "krt report sample --namespace ns --open" in text
    assert "krt evidence sample --namespace ns -o sample-evidence" in text


def test_findings_name_a_loss_before_what_follows_from_it() -> None:
    def permitted(count: int) -> dict[str, Any]:
        return {"unit": "records", "count": count, "permitted": count, "violations": 0}

    names = {"duplicate-delivery": 9, "key-order": 20, "lost-write": 1}
    card = {"anomalies": {name: permitted(count) for name, count in names.items()}}
    assert [item.code for item in findings(card)] == [
        "lost-write",
        "key-order",
        "duplicate-delivery",
    ]


def test_explain_as_json_holds_the_same_causes(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get krt", resource())
    assert explained(kubectl, "-o", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "Inconclusive"
    assert [(item["kind"], item["code"].split()[0]) for item in document["causes"]] == [
        ("InconclusiveReason", "ClocksDisagree"),
        ("Violation", "lost-write"),
        ("Void", "key-order"),
        ("Permitted", "duplicate-write"),
        ("Objective", "maxWriteUnavailability"),
        ("Expectation", "leaderChanges"),
    ]
    assert document["next"]


def test_explain_of_a_test_that_could_not_be_set_up_gives_its_condition_once(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "zone a needs 2 usable nodes and has 1; add nodes or zones"
    conditions = [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": words,
            "lastTransitionTime": "2026-11-21T04:03:00Z",
        }
        for kind, status, reason, words in (
            ("Provisioned", "False", "TooFewNodes", message),
            ("Recovered", "Unknown", "Running", ""),
            ("Finished", "True", "Error", ""),
            ("Succeeded", "False", "SetupFailed", message),
        )
    ]
    kubectl.answers("get krt", resource(phase="Error", report=None, conditions=conditions))
    assert run(["explain", "sample"]) == 0
    text = capsys.readouterr().out
    assert text.count("add nodes or zones") == 1
    assert "condition Provisioned=False TooFewNodes" in text
    assert REASONS["TooFewNodes"].meaning in text
    assert "krt run FILE --namespace ns --replace" in text


def test_explain_of_an_aborted_test_names_its_evidence_and_no_report(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    finished = {"type": "Finished", "status": "True", "reason": "Aborted"}
    conditions = [finished | {"lastTransitionTime": "2026-11-21T04:03:00Z"}]
    report = {"path": "ns/sample/u1"}
    kubectl.answers("get krt", resource(phase="Aborted", report=report, conditions=conditions))
    assert run(["explain", "sample"]) == 0
    text = capsys.readouterr().out
    assert "krt evidence sample --namespace ns -o sample-evidence" in text
    assert "krt report" not in text


def test_explain_of_a_controllers_reason_repeats_no_remedy(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    remedy = REASONS["RevertFailed"].remedy
    reason = {
        "code": "RevertFailed",
        "kind": "coverage",
        "message": f"fault f: it broke; {remedy}",
        "at": "2026-11-21T04:03:00Z",
    }
    kubectl.answers("get krt", resource(report=None, inconclusiveReasons=[reason]))
    assert run(["explain", "sample"]) == 0
    assert capsys.readouterr().out.count(remedy) == 1


def test_explain_of_a_test_that_is_running_says_how_to_follow_it(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get krt", resource(phase="Warmup", verdict="Pending", conditions=[]))
    assert run(["explain", "sample"]) == 0
    text = capsys.readouterr().out
    assert "The test is running: phase Warmup." in text
    assert "krt watch sample --namespace ns" in text


def test_explain_of_a_test_that_waits_says_for_what_and_what_to_do(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    waits = {
        "type": "Provisioned",
        "status": "Unknown",
        "reason": "NodesUnderPressure",
        "message": "no room without nodes under pressure: n1 (DiskPressure); add nodes",
    }
    kubectl.answers("get krt", resource(phase="Pending", verdict="Pending", conditions=[waits]))
    assert run(["explain", "sample"]) == 0
    text = capsys.readouterr().out
    assert "n1 (DiskPressure)" in text
    assert "add nodes" in text
    assert "Provisioned=Unknown NodesUnderPressure" in text


def test_explain_without_the_scorecard_explains_by_the_status_alone(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get krt", resource())
    kubectl.answers("get configmap", code=1, stderr="forbidden")
    assert run(["explain", "sample"]) == 0
    assert "Inconclusive" in capsys.readouterr().out
