"""Histories of Kafka's own tools, correct and with a defect each, through the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.importers import histories

from krt_scoring import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.spark.importers.histories import Files

    Score = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.usefixtures("interpreting")

ACKED = 2 * histories.RECORDS


@pytest.fixture
def score(krt_score: Callable[..., int], tmp_path: Path) -> Score:
    """Write a history, score it as a person would and return the scorecard."""

    def run(files: Files, settings: dict[str, Any] | None = None) -> dict[str, Any]:
        root = histories.write(tmp_path / "history", files, settings)
        before = {path: path.read_bytes() for path in root.iterdir()}
        out = tmp_path / "scorecard.json"
        assert krt_score("--from", "verifiable", str(root), "--out", str(out)) == cli.EXIT_SCORED
        assert {path: path.read_bytes() for path in root.iterdir()} == before
        card: dict[str, Any] = json.loads(out.read_text())
        return card

    return run


def found(card: dict[str, Any]) -> dict[str, int]:
    return {name: item["count"] for name, item in card["anomalies"].items() if item["count"]}


def codes(card: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(item["kind"], item["code"], item["subject"]) for item in card["inconclusiveReasons"]]


def test_score_correct_history_passes(score: Score) -> None:
    card = score(histories.correct())
    assert (card["verdict"], card["inconclusiveReasons"], found(card)) == ("Passed", [], {})
    ledger = card["ledger"]
    assert (ledger["attempted"], ledger["acked"], ledger["delivered"]) == (ACKED,) * 3
    assert ledger["balanced"] == 1
    assert ledger["deliveries"] == ACKED
    assert card["run"]["name"] == "history"
    assert card["imported"]["from"] == "verifiable"
    assert "vanished-read" in card["imported"]["notJudged"]
    assert not any(row["measured"] for row in card["availability"])
    assert "latency" not in card


def test_score_acked_record_that_was_read_past_is_lost(score: Score) -> None:
    files = histories.correct()
    histories.drop_delivery(files, "2.31")
    card = score(files)
    assert (card["verdict"], card["score"]) == ("Failed", 0)
    lost = card["anomalies"]["lost-write"]
    assert (lost["count"], lost["class"]) == (1, "Violation")
    assert lost["detail"] == {"basisDeliveries": 1}
    (example,) = lost["examples"]
    assert (example["producer"], example["seq"], example["basis"]) == ("2-0", 31, "deliveries")
    assert card["ledger"]["lost"] == 1


def test_score_loss_with_acks_1_is_inconclusive(score: Score) -> None:
    files = histories.correct()
    histories.drop_delivery(files, "2.31")
    card = score(files, {"producers": {"2": {"acks": "1"}}})
    assert card["verdict"] == "Inconclusive"
    assert codes(card) == [("evidence", "LeadersUnknown", "foo")]
    assert found(card) == {"lost-write": 1}


def test_score_unread_tail_is_inconclusive(score: Score) -> None:
    files = histories.correct()
    histories.end_early(files)
    card = score(files)
    assert card["verdict"] == "Inconclusive"
    assert codes(card) == [
        ("coverage", "GroupNotDrained", "foo-0"),
        ("coverage", "GroupNotDrained", "foo-1"),
    ]
    assert found(card) == {}


def test_score_violation_with_poor_coverage_fails(score: Score) -> None:
    files = histories.correct()
    histories.drop_delivery(files, "2.31")
    histories.end_early(files)
    card = score(files)
    assert card["verdict"] == "Failed"
    assert ("coverage", "GroupNotDrained", "foo-1") in codes(card)


def test_score_record_delivered_from_two_offsets_is_a_duplicate_write(score: Score) -> None:
    files = histories.correct()
    member = histories.Member(histories.T0 + 2_000)
    copy = {"key": None, "value": "1.117", "offset": histories.RECORDS}
    member.assigned(1)
    member.read({1: [copy]}, {1: (0, 1)})
    member.tell("shutdown_complete")
    files["consumer-g-3"] = member.events
    card = score(files)
    assert (card["verdict"], found(card)) == ("Failed", {"duplicate-write": 1})


def test_score_listing_without_a_line_is_no_loss_of_kafka(score: Score) -> None:
    files = histories.correct()
    index = next(number for number, event in enumerate(files[histories.FIRST]) if "value" in event)
    del files[histories.FIRST][index]
    card = score(files)
    assert card["verdict"] == "Inconclusive"
    ((kind, code, subject),) = codes(card)
    assert (kind, code) == ("evidence", "DeliveriesNotListed")
    assert subject.startswith("consumer-g-1.jsonl:")
    assert found(card)["lost-write"] == 1


def test_score_producer_output_without_a_line_does_not_balance(score: Score) -> None:
    files = histories.correct()
    del files["producer-1"][5]
    card = score(files)
    assert card["verdict"] == "Inconclusive"
    assert ("evidence", "LedgerDoesNotBalance", "produce") in codes(card)


def test_score_killed_processes_named_in_the_settings_are_explained(score: Score) -> None:
    files = histories.correct()
    for stem in ("producer-2", histories.SECOND):
        files[stem] = [
            event
            for event in files[stem]
            if event["name"] not in ("shutdown_complete", "tool_data")
        ]
    card = score(files)
    assert card["verdict"] == "Inconclusive"
    assert codes(card) == [
        ("coverage", "TrafficPodLost", "consumer-g-2"),
        ("coverage", "TrafficPodLost", "producer-2"),
        ("evidence", "ProducerSummaryMissing", "2-0"),
    ]
    assert score(files, {"killed": ["producer-2", histories.SECOND]})["verdict"] == "Passed"


def test_score_uncommitted_deliveries_of_a_killed_member_may_repeat(score: Score) -> None:
    files = histories.correct()
    # The first member's last commit of partition 1 is gone, and the second begins below it.
    first = files[histories.FIRST]
    revoked = next(n for n, event in enumerate(first) if event["name"] == "partitions_revoked")
    assert first[revoked - 1]["name"] == "offsets_committed"
    del first[revoked - 1]
    half = histories.RECORDS // 2
    logs = {
        1: sorted(
            (
                {key: event[key] for key in ("key", "value", "offset")}
                for stem in files
                for event in files[stem]
                if event["name"] == "producer_send_success" and event["partition"] == 1
            ),
            key=lambda record: record["offset"],
        )
    }
    second = histories.Member(histories.T0 + 400)
    second.assigned(1)
    second.read(logs, {1: (half - half % histories.POLL, histories.RECORDS)})
    second.tell("shutdown_complete")
    files[histories.SECOND] = second.events
    card = score(files)
    assert card["verdict"] == "Passed", card["inconclusiveReasons"]
    again = card["anomalies"]["duplicate-delivery"]
    assert again["class"] == "AllowedByConfig"
    assert again["detail"] == {"withinUncommittedWindow": half % histories.POLL}


def test_score_without_a_consumer_is_inconclusive(score: Score) -> None:
    files = {stem: events for stem, events in histories.correct().items() if "producer" in stem}
    card = score(files)
    assert card["verdict"] == "Inconclusive"
    assert codes(card) == [("evidence", "FileMissing", "consumer-*.jsonl")]


def test_score_settings_without_meaning_are_refused_by_name(score: Score) -> None:
    card = score(histories.correct(), {"producers": {"1": {"ack": "1"}}})
    assert card["verdict"] == "Inconclusive"
    (reason,) = card["inconclusiveReasons"]
    assert (reason["code"], reason["subject"]) == ("PlanUnusable", "history.json")
    assert "producers.1.ack" in reason["message"]
