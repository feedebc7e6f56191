"""Outputs of scoring: scorecard, ConfigMap, termination message, JUnit, report."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from xml.etree import ElementTree as ET

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.scoring.api_double import Api
from tests.unit.scoring.builders import RUN, anomaly

from krt_scoring.anomalies.registry import UNITS, unchecked
from krt_scoring.engine import api_retries
from krt_scoring.inputs.reasons import Reason
from krt_scoring.inputs.scope import Scope
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.outputs import (
    config_map,
    junit,
    report,
    scorecard,
    scorecard_sections,
    termination,
)
from krt_scoring.outputs.unchecked import WHY_UNCHECKED
from krt_scoring.selftest.difference import Difference, Finding
from krt_scoring.selftest.results import CorruptionResult, SelfTestResult
from krt_scoring.verdict import summary
from krt_scoring.verdict.objectives import Objective, evaluate, limits
from krt_scoring.verdict.verdict import decide

EXAMPLE = {"topic": "foo", "partition": 0, "offset": 7, "producer": "<b>", "seq": 3}


def card(**changes: Any) -> dict[str, Any]:
    results = [
        anomaly("lost-write", {None: 2, "unclean-election": 5}, examples=(EXAMPLE,) * 32),
        anomaly("duplicate-write", {"retries": 90}),
        *(anomaly(name) for name in UNITS if name not in ("lost-write", "duplicate-write")),
    ]
    reason = Reason(
        "coverage", "FaultNotVerified", "leader-down", "nothing shows that it took effect"
    )
    document: dict[str, Any] = scorecard.header("ns", "t", "uid", 42) | {
        "verdict": "Failed",
        "summary": "lost-write 2",
        "inconclusiveReasons": [reason.as_dict()],
        "ledger": {"attempted": 10, "acked": 10, "balanced": 1},
        "anomalies": scorecard_sections.anomalies(results, {}),
        "uncheckedAnomalies": list(unchecked(RUN)),
        "allowances": scorecard_sections.allowances(results),
        "objectives": [Objective("lostRecords", 0, 7).as_dict()],
        "availability": [],
    }
    return document | changes


def test_dump_sorts_keys_and_refuses_fractions() -> None:
    text = scorecard.dump(card())
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert text.endswith("}\n")
    with pytest.raises(TypeError, match=r"\.ledger\.acked is 0\.5"):
        scorecard.dump(card(ledger={"acked": 0.5}))


def test_config_map_has_no_examples_and_is_owned_by_the_test() -> None:
    written = config_map.build("t-scorecard", "ns", "t", "uid", card())
    assert written.data is not None
    message = json.loads(written.data["scorecard.json"])
    assert all("examples" not in item for item in message["anomalies"].values())
    assert message["anomalies"]["lost-write"]["count"] == 7
    assert written.metadata is not None
    assert written.metadata.ownerReferences is not None
    assert [(o.kind, o.uid) for o in written.metadata.ownerReferences] == [
        ("KafkaResilienceTest", "uid")
    ]
    assert (written.metadata.labels or {})["kafkaresilience.dev/test-uid"] == "uid"


def test_render_of_an_anomaly_that_polling_does_not_show_names_no_remedy() -> None:
    name = "accepted-below-min-isr"
    document = card(uncheckedAnomalies=[name])
    assert f"Not checked: {name} (polling the cluster does not show" in report.render(
        document, Timeline(())
    )
    suite = ET.fromstring(junit.render(document))  # noqa: S314 (our own text)
    (skipped,) = [case.find("skipped") for case in suite if case.get("name") == name]
    assert skipped is not None
    assert "compareReplicas" not in skipped.get("message", "")
    assert set(WHY_UNCHECKED) >= set(unchecked(RUN))


def test_slim_of_a_large_scorecard_leaves_out_gaps() -> None:
    gaps = [{"from": index, "to": index + 1, "duration": 1} for index in range(8_000)]
    rows = [{"topic": "foo", "partition": 0, "count": 8_000, "gaps": gaps}]
    text = config_map.slim(card(availability=rows))
    assert len(text) <= config_map.MAX_BYTES
    assert json.loads(text)["availability"] == [{"topic": "foo", "partition": 0, "count": 8_000}]
    assert json.loads(text)["gapsTruncated"] is True


def test_message_names_a_loss_before_more_frequent_consequences() -> None:
    lost = {"class": "AllowedByConfig", "count": 2}
    again = {"class": "AllowedByConfig", "count": 900}
    message = termination.message(card(anomalies={"duplicate-delivery": again, "lost-write": lost}))
    assert json.loads(message)["topAnomaly"] == {"anomaly": "lost-write", **lost}


def test_message_fits_and_names_the_top_anomaly() -> None:
    message = json.loads(termination.message(card()))
    assert (message["verdict"], message["inconclusiveReasons"]) == ("Failed", ["FaultNotVerified"])
    assert message["topAnomaly"] == {"anomaly": "lost-write", "class": "Violation", "count": 7}
    long = termination.message(card(summary="µ" * 4_000))
    assert len(long.encode()) <= termination.MAX_BYTES
    assert json.loads(long)["summary"].startswith("µµ")


TEXTS = st.text(st.characters(codec=None), max_size=3000)


@given(
    summary=TEXTS,
    codes=st.lists(st.text(max_size=80), max_size=400),
    ledger=st.dictionaries(st.text(max_size=40), st.integers(), max_size=80),
    expectations=st.lists(st.text(max_size=200), max_size=60),
    verdict=st.sampled_from(["Passed", "Degraded", "Failed", "Inconclusive"]),
)
def test_message_of_any_card_is_json_within_the_limit_with_the_verdict_first(
    summary: str, codes: list[str], ledger: dict[str, int], expectations: list[str], verdict: str
) -> None:
    document = card(
        verdict=verdict,
        summary=summary,
        inconclusiveReasons=[{"code": code} for code in codes],
        ledger=ledger,
        expectationResults=[{"expectation": name, "result": "NotMet"} for name in expectations],
        selfTest={"detected": 3, "total": 4},
        score=97,
    )
    text = termination.message(document)
    assert len(text.encode()) <= termination.MAX_BYTES
    found = json.loads(text)
    assert next(iter(found.items())) == ("verdict", verdict)
    assert found["score"] == 97
    assert summary.encode(errors="replace").decode().startswith(found["summary"])


def test_message_with_very_many_reasons_names_the_first_and_counts_the_rest() -> None:
    reasons = [{"code": f"Reason{number:03}"} for number in range(300)]
    found = json.loads(termination.message(card(inconclusiveReasons=reasons)))
    assert found["inconclusiveReasons"][0] == "Reason000"
    assert found["inconclusiveReasons"][-1] == "and 292 more"
    assert found["summary"] == "lost-write 2"
    assert found["ledger"]["attempted"] == 10


def test_cut_counts_bytes() -> None:
    assert termination.cut("µ" * 4_000) == "µ" * 1024


SCORECARD = config_map.build("t-scorecard", "ns", "t", "uid", card())


@pytest.mark.parametrize(
    "step",
    [409, 429, 500, 502, 503, 504, httpx2.ConnectError("refused"), httpx2.ReadTimeout("slow")],
)
def test_publish_after_a_passing_error_tries_again(
    pauses: list[float], step: int | Exception
) -> None:
    api = Api(step, step)
    assert config_map.publish(SCORECARD, api.connect)
    assert api.requests == ["/api/v1/namespaces/ns/configmaps/t-scorecard"] * 3
    assert pauses == [0.5, 1.0]


def test_publish_told_when_to_come_back_waits_that_long(pauses: list[float]) -> None:
    assert config_map.publish(SCORECARD, Api(429, headers={"Retry-After": "7"}).connect)
    assert pauses == [7.0]


def test_publish_with_a_server_that_stays_broken_gives_up_before_its_deadline(
    pauses: list[float],
) -> None:
    api = Api(*[503] * 100)
    assert not config_map.publish(SCORECARD, api.connect)
    assert sum(pauses) > config_map.DEADLINE_SECONDS - api_retries.LAST_PAUSE
    assert sum(pauses) < config_map.DEADLINE_SECONDS


@pytest.mark.parametrize("status", [403, 404, 413, 422])
def test_publish_that_is_refused_for_good_gives_up_at_once(
    pauses: list[float], status: int
) -> None:
    api = Api(status)
    assert not config_map.publish(SCORECARD, api.connect)
    assert len(api.requests) == 1
    assert pauses == []


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
KEPT = EXAMPLE | {"presentOnBrokers": [2], "dumped": [0, 2]}


def test_render_shows_replicas_and_brokers_that_kept_a_lost_record() -> None:
    anomalies = scorecard_sections.anomalies(
        [
            anomaly("lost-write", {None: 2}, examples=(KEPT, KEPT | {"presentOnBrokers": []})),
            anomaly("replica-divergence", {None: 1}, {"lacking": 1}, (SIDE,)),
        ],
        {},
    )
    document = card(replicas=REPLICAS, anomalies=anomalies, uncheckedAnomalies=[], availability=[])
    del document["availability"]
    page = report.render(document, Timeline(()))
    assert "&lt;i&gt; the dump broke off" in page
    assert "0: 0 to 9; 1: 0 to 4" in page
    assert '<th scope="col">presentOnBrokers</th>' in page
    assert "<td>0, 2</td>" in page
    assert "<td>none</td>" in page
    assert "Not checked" not in page
    suite = ET.fromstring(junit.render(document))  # noqa: S314 (our own text)
    (case,) = [case for case in suite if case.get("name") == "replica-divergence"]
    assert case.find("failure") is not None


def test_render_of_an_unchecked_anomaly_says_so() -> None:
    document = card()
    del document["availability"]
    page = report.render(document, Timeline(()))
    assert "Not checked: replica-divergence" in page
    assert page.count("replica-divergence") == 1
    suite = ET.fromstring(junit.render(document))  # noqa: S314 (our own text)
    (case,) = [case for case in suite if case.get("name") == "replica-divergence"]
    assert case.find("skipped") is not None


def test_slim_of_a_large_scorecard_leaves_out_replicas() -> None:
    text = config_map.slim(card(replicas=REPLICAS * 4_000))
    assert len(text) <= config_map.MAX_BYTES
    assert json.loads(text)["replicas"] == []


def test_render_shows_anomalies_and_escapes_text() -> None:
    latency = {"count": 0, "p50": 0, "p95": 0, "p99": 0, "max": 0}
    parts = dict.fromkeys(("before", "during", "after"), latency)
    full = card(latency={"write": parts, "endToEnd": parts}, recovery={"max": 0, "faults": []})
    text = report.render(full, Timeline(()))
    assert "<h1>Failed" in text
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    assert "unclean-election" in text
    assert "http" not in text.replace("http-equiv", "")


def test_render_without_a_plan_shows_the_verdict() -> None:
    bare = scorecard.header("ns", "t", "uid", None)
    bare |= {"verdict": "Inconclusive", "summary": "PlanUnusable", "inconclusiveReasons": []}
    assert "Inconclusive" in report.render(bare, Timeline(()))


def self_test(*, detected: bool) -> SelfTestResult:
    finding = Finding("unseen", topic="foo", partition=0, offset=7, grp="g")
    expected = Difference(Counter({finding: 1}), Counter(undelivered=1))
    unexpected = Difference() if detected else expected
    result = CorruptionResult("dropped-delivery", {"topic": "foo"}, expected, unexpected, detected)
    return SelfTestResult((result,), {"aborted-send-committed": "an aborted transaction"})


@pytest.mark.parametrize("detected", [True, False])
def test_outputs_of_a_self_test_show_its_result(*, detected: bool) -> None:
    score = self_test(detected=detected)
    latency = {"count": 0, "p50": 0, "p95": 0, "p99": 0, "max": 0}
    parts = {"write": dict.fromkeys(("before", "during", "after"), latency)}
    document = card(
        selfTest=score.as_dict(),
        latency=parts | {"endToEnd": parts["write"]},
        recovery={"max": 0, "faults": []},
    )
    assert json.loads(scorecard.dump(document))["selfTest"]["total"] == 1
    message = json.loads(termination.message(document))
    assert message["selfTest"] == {"detected": int(detected), "total": 1}
    page = report.render(document, Timeline(()))
    assert f"{int(detected)} of 1 detected" in page
    assert "an aborted transaction" in page
    suite = ET.fromstring(junit.render(document))  # noqa: S314 (our own text)
    (case,) = [case for case in suite if case.get("classname") == "selfTest"]
    assert (case.find("failure") is None) is detected
    line = summary.line(decide({}, (), ()), {}, [], score)
    assert ("the self-test detected 0 of 1 corruptions" in line) is not detected


def test_reason_of_a_missed_corruption_prevents_passed_but_not_failed() -> None:
    reason = self_test(detected=False).reason()
    assert reason is not None
    assert decide({}, (reason,), ()).verdict == "Inconclusive"
    assert decide({"unseen": 1}, (reason,), ()).verdict == "Failed"
    assert self_test(detected=True).reason() is None


LOST = anomaly("lost-write", {"unclean-election": 5})


def test_line_of_a_degraded_run_starts_with_the_permitted_loss() -> None:
    decision = decide({}, (), (Objective("lostRecords", 0, 5), Objective("maxRecovery", 9, 4)))
    text = summary.line(decision, {"acked": 9, "attempted": 10, "lost": 5}, [LOST])
    assert text.startswith("5 records lost, as the configuration permits (unclean-election); ")
    assert "9 of 10 records acked" in text
    assert "recovery 4 µs" in text


def test_line_of_a_failed_run_names_the_violation_and_is_cut() -> None:
    decision = decide({"lost-write": 3}, (), ())
    assert summary.line(decision, {}, [LOST]).startswith(
        "not permitted by the configuration: lost-write 3 records"
    )
    reason = Reason("evidence", "FileMissing", "log", "x" * 900)
    text = summary.line(decide({}, (reason,), ()), {}, [])
    assert len(text) == summary.MAX_LENGTH


def test_limits_have_defaults_and_take_durations_and_counts() -> None:
    spec = {"scoring": {"objectives": {"lostRecords": 3, "maxRecovery": "1m30s"}}}
    found = limits(spec)
    assert (found["lostRecords"], found["maxRecovery"]) == (3, 90_000_000)
    assert found["maxWriteUnavailability"] == 15_000_000
    (first, *_) = evaluate(found, {"lostRecords": 4})
    assert first.as_dict() == {
        "name": "lostRecords",
        "limit": 3,
        "value": 4,
        "met": False,
        "unit": "records",
    }


def test_message_names_the_first_expectations_alone() -> None:
    results = [{"expectation": f"c{i}", "result": "NotMet"} for i in range(9)]
    counted = termination.count_results([*results, {"expectation": "x", "result": "Met"}])
    assert counted == {
        "met": 1,
        "notMet": ["c0", "c1", "c2", "c3", "c4", "and 4 more"],
        "notEvaluated": [],
    }
    assert "expectationResults" not in json.loads(termination.message(card(expectationResults=[])))


def test_render_shows_the_scope_of_a_reason_and_what_is_void() -> None:
    scope = Scope(("log",), (("foo", 0),))
    reason = Reason("evidence", "LogNotStable", "foo-0", "it moved", ("lost-write",), scope)
    lost = anomaly("lost-write", {None: 3}, examples=(EXAMPLE,))
    anomalies = scorecard_sections.anomalies([lost], {"lost-write": 2})
    document = card(inconclusiveReasons=[reason.as_dict()], anomalies=anomalies)
    page = report.render(document, Timeline(()))
    assert "concerns only: tables log; partitions foo-0" in page
    assert '<strong class="Violation">1 not permitted</strong>' in page
    assert '<strong class="Void">2 not judged, since evidence is missing</strong>' in page


def test_void_violations_are_no_violations_in_any_output() -> None:
    results = [anomaly("lost-write", {None: 3}, examples=(EXAMPLE,)), anomaly("key-order")]
    anomalies = scorecard_sections.anomalies(results, {"lost-write": 3, "key-order": 0})
    assert [item["class"] for item in anomalies.values()] == ["Void", "NotObserved"]
    document = card(anomalies=anomalies)
    message = json.loads(termination.message(document))
    assert message["topAnomaly"] == {"anomaly": "lost-write", "class": "Void", "count": 3}
    page = report.render(document, Timeline(()))
    assert '<span class="tag Void">Void</span>' in page
    assert "not permitted" not in page


@pytest.mark.parametrize(("void", "tag"), [(0, "failure"), (2, "failure"), (3, "skipped")])
def test_junit_of_violations_on_missing_evidence_alone_skips_the_anomaly(
    void: int, tag: str
) -> None:
    lost = scorecard_sections.anomalies([anomaly("lost-write", {None: 3})], {"lost-write": void})
    text = junit.render(card(anomalies=lost))
    (case,) = ET.fromstring(text).findall("testcase[@classname='anomaly']")  # noqa: S314 (ours)
    (outcome,) = case
    assert outcome.tag == tag
    assert str(void if tag == "skipped" else 3 - void) in str(outcome.get("message"))


def test_junit_replaces_characters_that_xml_forbids() -> None:
    reason = Reason("evidence", "FileUnreadable", "log/\x00a", "torn \x1b[0m\ud800 at \x08")
    text = junit.render(card(inconclusiveReasons=[reason.as_dict()]))
    (case,) = ET.fromstring(text).findall("testcase[@classname='evidence']")  # noqa: S314 (ours)
    assert case.get("name") == "FileUnreadable log/\ufffda"
    (error,) = case
    assert error.get("message") == "torn \ufffd[0m\ufffd at \ufffd"
