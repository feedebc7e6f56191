"""Histories of examples, as the report draws them."""

from __future__ import annotations

from typing import Any

from tests.unit.scoring.builders import SECOND

from krt_scoring.anomalies.registry import UNITS
from krt_scoring.outputs.report.findings import story
from krt_scoring.outputs.report.ledger import flow
from krt_scoring.outputs.report.meanings import MEANINGS
from krt_scoring.outputs.report.score import explain

WHO = {"producer": "plain-0", "producer_incarnation": "u", "seq": 7}
EXAMPLE: dict[str, Any] = {
    **WHO,
    "topic": "foo",
    "partition": 0,
    "offset": 90,
    "history": [
        {**WHO, "what": "sent", "at": SECOND, "state": "acked", "offset": 90},
        {"what": "log", "at": 5 * SECOND, "offset": 90, "seq": 9, "producer": "plain-0"},
    ],
}
SERIES = {
    "partitions": [
        {
            "topic": "foo",
            "partition": 0,
            "at": [0, 2 * SECOND, 3 * SECOND],
            "leader": [0, -1, 1],
            "isr": [[0, 1], [1], [1]],
        }
    ]
}


def test_story_of_a_lost_record_tells_sent_leader_log_and_reader() -> None:
    found = story(EXAMPLE, SERIES)
    assert found.title == "foo-0, offset 90: record 7 of plain-0"
    assert [(step.kind, step.text) for step in found.steps] == [
        ("sent", "plain-0 sent record 7: acked at offset 90"),
        ("leader", "the leader of the partition changed from broker 0 to no leader"),
        ("leader", "the leader of the partition changed from no leader to broker 1"),
        ("log", "the log holds record 9 of plain-0 at offset 90 instead"),
        ("read", "no group was given it"),
    ]


def test_story_of_a_delivered_record_names_its_readers() -> None:
    got = {**WHO, "what": "delivered", "at": 2 * SECOND, "offset": 90}
    rows = [{**got, "grp": "readers", "consumer": f"c-{number}"} for number in range(5)]
    held = {**WHO, "what": "log", "at": SECOND, "offset": 90}
    found = story({**EXAMPLE, "history": [held, *rows]}, None)
    texts = [step.text for step in found.steps]
    assert texts[0] == "group readers (c-0) was given it from offset 90"
    assert texts[-2:] == ["the log holds it at offset 90", "and 2 more deliveries"]


def test_story_without_names_still_says_where_it_was() -> None:
    found = story({"topic": "foo", "partition": 0, "offset": 4, "history": []}, None)
    assert found.title == "foo-0, offset 4"
    assert found.steps[0].text == "the log holds nothing at offset 4"


def test_meanings_explain_every_anomaly() -> None:
    assert set(MEANINGS) == set(UNITS)


def test_flow_divides_attempts_and_marks_what_is_lost() -> None:
    acked, unknown, failed = flow({"attempted": 100, "acked": 90, "lost": 1, "delivered": 89})
    assert (acked.count, acked.length, unknown.length, failed.length) == (90, 900, 0, 0)
    parts = {part.key: part for part in acked.parts}
    assert (parts["lost"].bad, parts["lost"].length) == (True, 10)
    assert not parts["delivered"].bad
    assert not parts["undelivered"].bad
    assert flow({})[0].length == 0


def test_explain_writes_a_component_with_its_numbers() -> None:
    text = explain(
        "availability", {"value0": 7_220_000, "limit0": 15 * SECOND, "value1": 0, "limit1": 1}
    )
    assert "7.22 s against an objective of 15.00 s" in text
    assert "nothing to recover from" in explain("recovery", {})
    assert "before the faults were reverted" in explain("recovery", {"value": 0, "limit": 5})
    lost = {"acked": 1_000, "lostPermitted": 3, "lostViolations": 0, "lostLimit": 0}
    assert "1\u202f000 acknowledged records" in explain("durability", lost)
    assert explain("novel", {"a": 1}) == "a 1"
    assert explain("durability", {"a": 1}) == "a 1"
