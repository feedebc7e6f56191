"""What scoring tells: scorecard, ConfigMap, termination message, JUnit, report."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from krt_scoring.anomalies.findings import UNITS
from krt_scoring.anomalies.findings import result as anomaly_result
from krt_scoring.inputs.reasons import Reason
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.outputs import (
    junit,
    report,
    result,
    scorecard,
)
from krt_scoring.selftest import DetectorScore
from krt_scoring.selftest.difference import Difference, Finding
from krt_scoring.selftest.outcome import Outcome
from krt_scoring.verdict import summary
from krt_scoring.verdict.objectives import Objective, judge, limits
from krt_scoring.verdict.verdict import decide

EXAMPLE = {"topic": "foo", "partition": 0, "offset": 7, "producer": "<b>", "seq": 3}


def card(**changes: Any) -> dict[str, Any]:
    results = [
        anomaly_result("lost-write", {None: 2, "unclean-election": 5}, {}, (EXAMPLE,) * 32),
        anomaly_result("duplicate-write", {"retries": 90}, {}, ()),
        *(
            anomaly_result(n, {}, {}, ())
            for n in UNITS
            if n not in ("lost-write", "duplicate-write")
        ),
    ]
    reason = Reason(
        "coverage", "FaultNotVerified", "leader-down", "nothing shows that it took effect"
    )
    whole: dict[str, Any] = scorecard.header("ns", "t", "uid", 42) | {
        "verdict": "Failed",
        "summary": "lost-write 2",
        "inconclusiveReasons": [reason.as_dict()],
        "ledger": {"attempted": 10, "acked": 10, "balanced": 1},
        "anomalies": scorecard.anomalies(results),
        "allowances": scorecard.allowances(results),
        "objectives": [Objective("lostRecords", 0, 7).as_dict()],
        "availability": [],
    }
    return whole | changes


def test_a_scorecard_is_sorted_and_holds_no_fraction() -> None:
    text = scorecard.dump(card())
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert text.endswith("}\n")
    with pytest.raises(TypeError, match=r"\.ledger\.acked is 0\.5"):
        scorecard.dump(card(ledger={"acked": 0.5}))


def test_the_configmap_holds_no_examples_and_is_owned_by_the_test() -> None:
    found = result.config_map("t-scorecard", "ns", "t", "uid", card())
    assert found.data is not None
    told = json.loads(found.data["scorecard.json"])
    assert all("examples" not in item for item in told["anomalies"].values())
    assert told["anomalies"]["lost-write"]["count"] == 7
    assert found.metadata is not None
    assert found.metadata.ownerReferences is not None
    assert [(o.kind, o.uid) for o in found.metadata.ownerReferences] == [
        ("KafkaResilienceTest", "uid")
    ]
    assert (found.metadata.labels or {})["kafkaresilience.dev/test-uid"] == "uid"


def test_a_scorecard_too_large_for_a_configmap_loses_its_gaps() -> None:
    gaps = [{"from": index, "to": index + 1, "duration": 1} for index in range(8_000)]
    rows = [{"topic": "foo", "partition": 0, "count": 8_000, "gaps": gaps}]
    text = result.slim(card(availability=rows))
    assert len(text) <= result.MAX_CONFIGMAP
    assert json.loads(text)["availability"] == [{"topic": "foo", "partition": 0, "count": 8_000}]
    assert json.loads(text)["gapsTruncated"] is True


def test_the_termination_message_fits_and_names_the_worst_first() -> None:
    told = json.loads(result.message(card()))
    assert (told["verdict"], told["inconclusiveReasons"]) == ("Failed", ["FaultNotVerified"])
    assert told["topAnomaly"] == {"anomaly": "lost-write", "class": "Violation", "count": 7}
    long = result.message(card(summary="µ" * 4_000))
    assert len(long.encode()) <= result.MAX_MESSAGE
    assert json.loads(long)["summary"].startswith("µµ")


def test_junit_has_a_case_for_each_anomaly_objective_and_reason() -> None:
    suite = ET.fromstring(junit.render(card()))  # noqa: S314 (our own text)
    cases = {case.get("name"): case for case in suite}
    assert len(cases) == len(UNITS) + 2
    assert suite.get("failures") == "2"
    assert suite.get("errors") == "1"
    assert cases["lost-write"].find("failure") is not None
    assert cases["duplicate-write"].find("failure") is None
    assert cases["lostRecords"].find("failure") is not None


REPLICAS = [
    {
        "topic": "foo",
        "partition": 0,
        "highWatermark": 9,
        "isr": [0, 1],
        "compared": [0, 1],
        "replicas": [
            {"broker": 0, "logStart": 0, "logEnd": 9},
            {"broker": 1, "logStart": 0, "logEnd": 4, "problem": "<i> the dump broke off"},
        ],
    }
]
SIDE = {"topic": "foo", "partition": 0, "offset": 7, "replicas": [{"broker": 0}], "lacking": [1]}
HELD = EXAMPLE | {"presentOnBrokers": [2], "dumped": [0, 2]}


def test_replicas_and_holders_of_what_is_lost_are_shown() -> None:
    anomalies = scorecard.anomalies(
        [
            anomaly_result("lost-write", {None: 2}, {}, (HELD, HELD | {"presentOnBrokers": []})),
            anomaly_result("replica-divergence", {None: 1}, {"lacking": 1}, (SIDE,)),
        ]
    )
    whole = card(replicas=REPLICAS, anomalies=anomalies, availability=[])
    del whole["availability"]
    page = report.render(whole, Timeline(()))
    assert "&lt;i&gt; the dump broke off" in page
    assert "0: 0 to 9; 1: 0 to 4" in page
    assert "<th>presentOnBrokers</th>" in page
    assert "<td>0, 2</td>" in page
    assert "<td>none</td>" in page
    assert "Not looked for" not in page
    suite = ET.fromstring(junit.render(whole))  # noqa: S314 (our own text)
    (case,) = [case for case in suite if case.get("name") == "replica-divergence"]
    assert case.find("failure") is not None


def test_what_was_not_looked_for_is_not_said_to_be_absent() -> None:
    whole = card()
    del whole["availability"]
    page = report.render(whole, Timeline(()))
    assert "Not looked for: replica-divergence" in page
    assert page.count("replica-divergence") == 1
    suite = ET.fromstring(junit.render(whole))  # noqa: S314 (our own text)
    (case,) = [case for case in suite if case.get("name") == "replica-divergence"]
    assert case.find("skipped") is not None


def test_a_scorecard_too_large_for_a_configmap_loses_its_replicas() -> None:
    text = result.slim(card(replicas=REPLICAS * 4_000))
    assert len(text) <= result.MAX_CONFIGMAP
    assert json.loads(text)["replicas"] == []


def test_the_report_shows_what_was_found_and_escapes_it() -> None:
    latency = {"count": 0, "p50": 0, "p95": 0, "p99": 0, "max": 0}
    parts = dict.fromkeys(("before", "during", "after"), latency)
    full = card(latency={"write": parts, "endToEnd": parts}, recovery={"max": 0, "faults": []})
    text = report.render(full, Timeline(()))
    assert "<h1>Failed" in text
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    assert "unclean-election" in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_report_of_a_bundle_without_a_plan() -> None:
    bare = scorecard.header("ns", "t", "uid", None)
    bare |= {"verdict": "Inconclusive", "summary": "PlanUnusable", "inconclusiveReasons": []}
    assert "Inconclusive" in report.render(bare, Timeline(()))


def detector(*, found: bool) -> DetectorScore:
    seen = Finding("unseen", topic="foo", partition=0, offset=7, grp="g")
    expected = Difference(Counter({seen: 1}), Counter(undelivered=1))
    unexpected = Difference() if found else expected
    one = Outcome("dropped-delivery", {"topic": "foo"}, expected, unexpected, found)
    return DetectorScore((one,), {"aborted-send-committed": "an aborted transaction"})


@pytest.mark.parametrize("found", [True, False])
def test_everybody_is_told_how_the_detector_did(*, found: bool) -> None:
    score = detector(found=found)
    latency = {"count": 0, "p50": 0, "p95": 0, "p99": 0, "max": 0}
    parts = {"write": dict.fromkeys(("before", "during", "after"), latency)}
    whole = card(
        selfTest=score.as_dict(),
        latency=parts | {"endToEnd": parts["write"]},
        recovery={"max": 0, "faults": []},
    )
    assert json.loads(scorecard.dump(whole))["selfTest"]["total"] == 1
    told = json.loads(result.message(whole))
    assert told["selfTest"] == {"detected": int(found), "total": 1}
    page = report.render(whole, Timeline(()))
    assert f"{int(found)} of 1 found" in page
    assert "an aborted transaction" in page
    suite = ET.fromstring(junit.render(whole))  # noqa: S314 (our own text)
    (case,) = [case for case in suite if case.get("classname") == "selfTest"]
    assert (case.find("failure") is None) is found
    line = summary.line(decide({}, (), ()), {}, [], score)
    assert ("the detector found 0 of 1 corruptions" in line) is not found


def test_a_detector_that_missed_something_cannot_pass_nor_hide_a_violation() -> None:
    reason = detector(found=False).reason()
    assert reason is not None
    assert decide({}, (reason,), ()).verdict == "Inconclusive"
    assert decide({"unseen": 1}, (reason,), ()).verdict == "Failed"
    assert detector(found=True).reason() is None


LOST = anomaly_result("lost-write", {"unclean-election": 5}, {}, ())


def test_the_summary_says_permitted_loss_first() -> None:
    decision = decide({}, (), (Objective("lostRecords", 0, 5), Objective("maxRecovery", 9, 4)))
    text = summary.line(decision, {"acked": 9, "attempted": 10, "lost": 5}, [LOST])
    assert text.startswith("5 records lost, as the configuration permits (unclean-election); ")
    assert "9 of 10 records acked" in text
    assert "recovery 4 µs" in text


def test_the_summary_names_the_violation_and_is_cut() -> None:
    decision = decide({"lost-write": 3}, (), ())
    assert summary.line(decision, {}, [LOST]).startswith(
        "not permitted by the configuration: lost-write 3 records"
    )
    reason = Reason("evidence", "FileMissing", "log", "x" * 900)
    text = summary.line(decide({}, (reason,), ()), {}, [])
    assert len(text) == summary.MAX_LENGTH


def test_objectives_have_defaults_and_take_durations_and_counts() -> None:
    spec = {"scoring": {"objectives": {"lostRecords": 3, "maxRecovery": "1m30s"}}}
    found = limits(spec)
    assert (found["lostRecords"], found["maxRecovery"]) == (3, 90_000_000)
    assert found["maxWriteUnavailability"] == 15_000_000
    (first, *_) = judge(found, {"lostRecords": 4})
    assert first.as_dict() == {
        "name": "lostRecords",
        "limit": 3,
        "value": 4,
        "met": False,
        "unit": "records",
    }
