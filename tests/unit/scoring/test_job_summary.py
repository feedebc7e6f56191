"""The summary for the page of a CI job."""

from __future__ import annotations

from typing import Any

from tests.unit.scoring.builders import anomaly

from krt_scoring.outputs import job_summary, scorecard, scorecard_sections
from krt_scoring.verdict.objectives import Objective


def card(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = scorecard.header("ns", "t", "uid", 42) | {
        "verdict": "Failed",
        "summary": "",
        "inconclusiveReasons": [],
        "ledger": {"acked": 9, "lost": 2},
        "anomalies": scorecard_sections.anomalies(
            [anomaly("lost-write", {None: 2, "acks-1": 5}), anomaly("unseen")], {}
        ),
        "objectives": [Objective("lostRecords", 0, 7).as_dict()],
    }
    return document | changes


def test_render_has_verdict_numbers_and_findings() -> None:
    text = job_summary.render(card(score=12.5))
    assert text.startswith("## Failed: ns/t, score 12.5 of 100\n")
    assert "| Lost acknowledged records | 7 | at most 0 records, **missed** |" in text
    assert "| Recovery | not recorded | no objective recorded |" in text
    assert "- lost-write (records): 2 not permitted, 5 permitted by acks-1" in text
    assert "unseen" not in text


def test_render_of_void_violations_does_not_call_them_not_permitted() -> None:
    found = [anomaly("lost-write", {None: 3}), anomaly("duplicate-delivery", {None: 4})]
    void = {"lost-write": 3, "duplicate-delivery": 1}
    text = job_summary.render(card(anomalies=scorecard_sections.anomalies(found, void)))
    assert "- lost-write (records): 3 not judged, since evidence is missing\n" in text
    assert "duplicate-delivery (deliveries): 3 not permitted, 1 not judged, since" in text
    assert text.index("duplicate-delivery") < text.index("lost-write")


def test_render_of_reasons_and_expectations_lists_a_few() -> None:
    reasons = [
        {"code": f"C{number}", "subject": "log", "message": "m", "invalidates": []}
        for number in range(12)
    ]
    unmet = {"expectation": "loss", "expected": "none", "observed": "2", "result": "NotMet"}
    met = unmet | {"expectation": "order", "result": "Met"}
    text = job_summary.render(
        card(inconclusiveReasons=reasons, expectationResults=[unmet, met], anomalies={})
    )
    assert "- C9 log: m\n- and 2 more" in text
    assert "- loss: expected none; observed 2" in text
    assert "order" not in text
    assert "### Anomalies" not in text


def test_render_of_markup_in_names_shows_it_as_text() -> None:
    warning = {"code": "W", "subject": "<b>|x", "message": "a\n# b [c](d) `e`"}
    text = job_summary.render(card(warnings=[warning]))
    assert r"- W \<b\>\|x: a # b \[c\](d) \`e\`" in text


def test_render_of_a_text_that_begins_like_a_heading_is_none() -> None:
    warning = {"code": "# W", "subject": "s", "message": "m"}
    assert r"- \# W s: m" in job_summary.render(card(warnings=[warning]))


def test_render_without_a_plan_says_that_nothing_was_judged() -> None:
    reason = {"code": "PlanUnusable", "subject": "run.json", "message": "m", "invalidates": []}
    bare = scorecard.header("ns", "t", "uid", None)
    text = job_summary.render(
        bare | {"verdict": "Inconclusive", "summary": "", "inconclusiveReasons": [reason]}
    )
    assert "Nothing was judged" in text
    assert "PlanUnusable" in text
