"""What the report shows of a run's measurements, and how it words what was not seen."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.unit.scoring.builders import SECOND, anomaly

from krt_scoring import durations
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics.histogram import bin_of
from krt_scoring.metrics.latency import Latencies
from krt_scoring.metrics.recovery import Recovery
from krt_scoring.outputs import junit, report, scorecard, scorecard_sections
from krt_scoring.outputs.report.head import tiles
from krt_scoring.outputs.report.words import breakable
from krt_scoring.outputs.severity import by_severity
from krt_scoring.verdict import objectives, summary
from krt_scoring.verdict.objectives import Objective
from krt_scoring.verdict.verdict import decide

LIMIT = 8_300_000
UNSEEN = "none longer than 8.30 s (detection limit)"
LOST = anomaly("lost-write", {"acks-1": 5}, examples=({"topic": "foo", "offset": 7},) * 5)
STALE = anomaly("inconsistent-offsets", {"acks-1": 90}, examples=({"topic": "foo"},) * 32)
EARLY = anomaly("poll-skip", {None: 1})
RISKY = anomaly("accepted-below-min-isr", {"acks-1": 2})
OTHER = anomaly("unexpected-rebalance", {"acks-1": 99})


def row(**changes: Any) -> dict[str, Any]:
    base = {"topic": "foo", "partition": 0, "direction": "read", "group": "g", "measured": True}
    counted = {"scheduled": 9, "duringFaultOps": 3, "detectionLimit": LIMIT, "count": 0, "gaps": []}
    return base | counted | changes


def card(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = scorecard.header("ns", "t", "uid", 42) | {
        "verdict": "Passed",
        "summary": "9 of 9 records acked",
        "inconclusiveReasons": [],
        "ledger": {"attempted": 9, "acked": 7, "failed": 2, "balanced": 1},
        "recovery": {"faults": []},
    }
    return document | changes


def text_of(document: dict[str, Any], *events: Any) -> str:
    page = report.render(document, Timeline(events))
    return re.sub(r"\s+", " ", re.sub(r"<(style|svg).*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL))


def test_render_of_an_unseen_gap_shows_the_detection_limit_instead_of_0() -> None:
    objective = Objective("maxReadUnavailability", 20 * SECOND, None, detection_limit=LIMIT)
    text = text_of(card(availability=[row()], objectives=[objective.as_dict()]))
    assert text.count(UNSEEN) == 3  # tile, objective, partition
    assert "0 µs" not in text


def test_render_lets_a_narrow_column_break_the_names_of_objectives() -> None:
    objective = Objective("maxReadUnavailability", 20 * SECOND, None, detection_limit=LIMIT)
    page = report.render(card(objectives=[objective.as_dict()]), Timeline(()))
    assert "<td>max<wbr>Read<wbr>Unavailability</td>" in page
    assert breakable("a<b>C") == "a&lt;b&gt;C"


def test_render_of_a_gap_shows_it_beside_the_detection_limit() -> None:
    gap = {"from": 5, "to": 5 + 9 * SECOND, "duration": 9 * SECOND}
    text = text_of(card(availability=[row(count=1, max=9 * SECOND, total=9 * SECOND, gaps=[gap])]))
    assert " 8.30 s 9.00 s 9.00 s " in text


def test_render_of_a_scorecard_without_detection_limits_says_what_it_knows() -> None:
    """Results of earlier builds have none, and have 0 where nothing was seen."""
    old = row(max=0, total=0)
    del old["detectionLimit"]
    assert "unknown none seen" in text_of(card(availability=[old]))


@pytest.mark.parametrize(
    ("longest", "limit", "text"),
    [
        (None, LIMIT, UNSEEN),
        (None, None, "not measured"),
        (9 * SECOND, LIMIT, "9.00 s"),
        (SECOND, LIMIT, "at least 1.00 s (detection limit 8.30 s)"),
        (SECOND, None, "1.00 s"),
    ],
)
def test_show_longest_never_shows_an_unseen_gap_as_0(
    longest: int | None, limit: int | None, text: str
) -> None:
    assert durations.show_longest(longest, limit) == text


def measured(read: int | None, recovery: int | None, *, affected: bool = True) -> tuple[str, str]:
    """The line and the JUnit file of a run with these measurements."""
    both = (
        Objective("maxReadUnavailability", 20 * SECOND, read, detection_limit=LIMIT),
        Objective("maxRecovery", 90 * SECOND, recovery, affected=affected),
    )
    line = summary.line(decide({}, (), both), {}, [])
    return line, junit.render(card(objectives=[item.as_dict() for item in both]))


def test_line_and_junit_of_an_unseen_gap_name_the_detection_limit() -> None:
    line, xml = measured(None, None, affected=False)
    assert "no read gap longer than 8.30 s (detection limit); recovery: no effect seen" in line
    outputs = [case.findtext("system-out") for case in ET.fromstring(xml)]  # noqa: S314 (ours)
    assert f"{UNSEEN}, limit 20.00 s" in outputs
    assert "no effect seen, limit 90.00 s" in outputs
    assert "0 µs" not in line + xml


def test_line_of_measured_times_shows_them() -> None:
    line, _ = measured(9 * SECOND, 0)
    assert "longest read gap 9.00 s; recovery before the revert" in line
    line, _ = measured(9 * SECOND, 5 * SECOND)
    assert "longest read gap 9.00 s; recovery 5.00 s" in line


def test_every_output_of_a_recovery_that_did_not_end_says_at_least() -> None:
    (objective,) = objectives.evaluate(
        {"maxRecovery": 90 * SECOND}, {"maxRecovery": 40 * SECOND}, ("maxRecovery",)
    )
    document = card(objectives=[objective.as_dict()])
    assert (objective.met, document["objectives"][0]["atLeast"]) == (False, True)
    assert "at least 40.00 s, limit 90.00 s" in junit.render(document)
    tile = next(tile for tile in tiles(document) if tile.name == "maxRecovery")
    assert tile.value == "at least 40.00 s"


def test_line_without_faults_has_no_recovery() -> None:
    assert "recovery" not in measured(9 * SECOND, None)[0]


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (
            Recovery("f", 5, 5, 5, 0, complete=True, affected=False),
            "No effect seen: no ISR was incomplete",
        ),
        (Recovery("f", 5, 5, 5, 0, complete=True), "Recovered before the revert."),
        (Recovery("f", 5, 9, 9, 4 * SECOND, complete=True), "Recovered 4.00 s after the revert."),
        (
            Recovery("f", 5, None, None, 4 * SECOND, complete=False),
            "Not recovered 4.00 s after the revert.",
        ),
    ],
)
def test_render_tells_no_effect_from_a_fast_recovery(item: Recovery, text: str) -> None:
    fault = {"name": "f", "action": "CrashPod", "verified": True, "observations": []}
    document = card(faults=[fault | {"targets": []}], recovery={"faults": [item.as_dict()]})
    page = text_of(document)
    assert text in page
    assert "0 µs" not in page


def latencies() -> Latencies:
    found = Latencies()
    for part, micros in (("startup", 5 * SECOND), ("before", 30_000), ("during", SECOND)):
        for kind, group in (("write", ""), ("endToEnd", "g")):
            found.add((kind, group, part), bin_of(micros), 10, micros)
    return found


def test_latency_before_the_faults_leaves_the_start_of_consumers_out() -> None:
    section = scorecard_sections.latency(latencies())
    for kind in ("write", "endToEnd"):
        assert section[kind]["before"]["p95"] == 30_000
        assert section[kind]["startup"]["p95"] == 5 * SECOND
        assert section[kind]["after"]["count"] == 0


def test_render_greys_the_start_out_and_marks_an_earlier_scorecard() -> None:
    page = report.render(card(latency=scorecard_sections.latency(latencies())), Timeline(()))
    assert page.count("start-up, not measured") == 2
    rows = re.findall(r"<tr[^>]*>.*?</tr>", page, flags=re.DOTALL)
    assert all('class="zero"' in item for item in rows if "start-up, not measured" in item)
    section = scorecard_sections.latency(latencies())
    old = {
        kind: {k: v for k, v in parts.items() if k != "startup"} for kind, parts in section.items()
    }
    assert text_of(card(latency=old)).count("before, with start-up") == 2


def test_by_severity_puts_violations_then_losses_then_counts_first() -> None:
    section = scorecard_sections.anomalies(
        [STALE, OTHER, LOST, RISKY, EARLY, anomaly("unseen")], {}
    )
    assert by_severity(section) == [
        "poll-skip",
        "lost-write",
        "accepted-below-min-isr",
        "inconsistent-offsets",
        "unexpected-rebalance",
    ]


def test_render_shows_the_most_severe_anomaly_first_and_examples_collapsed() -> None:
    anomalies = scorecard_sections.anomalies([STALE, LOST], {})
    page = report.render(card(anomalies=anomalies), Timeline(()))
    assert page.index('<h3 id="lost-write"') < page.index('<h3 id="inconsistent-offsets"')
    assert "<details open" not in page
    assert page.count("<summary>32 examples") == 1


def test_render_shows_offline_partitions_and_the_time_without_a_live_leader() -> None:
    fault = {"name": "f", "action": "CrashPod", "verified": True, "observations": [], "targets": []}
    without = {"partitions": 1, "longest": 6 * SECOND, "total": 6 * SECOND}
    rows = [{"fault": "f", "offlinePartitions": 0, "withoutLiveLeader": without}]
    text = text_of(card(faults=[fault], leadership=rows))
    assert (
        "Offline partitions (no leader for a second or longer, because none was eligible): 0."
        in text
    )
    assert "1 partition , for 6.00 s at the longest" in text.replace("partition,", "partition ,")
    rows[0]["withoutLiveLeader"] = {"partitions": 0}
    assert "is replaced included): none." in text_of(card(faults=[fault], leadership=rows))


TRANSFORM = {
    "group": "billers",
    "inputs": 7,
    "outputs": 7,
    "inputsWithoutOutput": 0,
    "outputsWithoutInput": 0,
    "inputsWithSharedOutput": 0,
    "undecided": 0,
    "oneToOne": True,
}
TRANSACTIONS = {
    "committed": {"transactions": 4, "records": 7},
    "aborted": {"transactions": 1, "records": 2},
    "undecided": {"transactions": 0, "records": 0},
    "transforms": [TRANSFORM],
}


def test_render_of_a_transactional_run_explains_failed_records() -> None:
    text = text_of(card(transactions=TRANSACTIONS))
    assert "committed 4 7" in text
    assert "2 of the 2 failed records" in text
    assert "7 committed inputs, 7 committed outputs one output per input" in text
    broken = TRANSFORM | {"inputsWithoutOutput": 3, "oneToOne": False}
    text = text_of(card(transactions=TRANSACTIONS | {"transforms": [broken]}))
    assert "not one output per input : 3 inputs without an output" in text
    assert "Transactions" not in text_of(card())


def test_junit_of_a_transactional_run_has_a_case_for_each_transform() -> None:
    suite = ET.fromstring(junit.render(card(transactions=TRANSACTIONS)))  # noqa: S314 (ours)
    (case,) = suite.findall("testcase[@classname='transform']")
    assert "7 inputs and 7 outputs" in str(case.findtext("system-out"))


def test_line_of_a_transactional_run_names_aborted_records() -> None:
    ledger = {"acked": 7, "attempted": 9}
    line = summary.line(decide({}, (), ()), ledger, [], aborted=2)
    assert line.startswith("7 of 9 records acked (2 in aborted transactions), 0 lost")
    assert "aborted" not in summary.line(decide({}, (), ()), ledger, [])


def test_outputs_of_a_warning_show_it_without_a_failure() -> None:
    warning = {"code": "LatencyExceedsGaps", "subject": "read <g>", "message": "it does not fit"}
    document = card(warnings=[warning])
    page = report.render(document, Timeline(()))
    assert "read &lt;g&gt;" in page
    assert "Warnings do not change the verdict." in page
    suite = ET.fromstring(junit.render(document))  # noqa: S314 (our own text)
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    (case,) = suite.findall("testcase[@classname='warning']")
    assert case.findtext("system-out") == "it does not fit"
