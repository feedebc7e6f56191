"""The head of the report: one sentence of what happened and what it means, and four tiles."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.scoring.builders import SECOND, anomaly

from krt_scoring.outputs import scorecard, scorecard_sections
from krt_scoring.outputs.report.head import sentence, tiles
from krt_scoring.verdict.objectives import Objective

LIMIT = 8_300_000


def objectives(
    *, lost: int = 0, write: int | None = None, read: int | None = None
) -> list[dict[str, Any]]:
    return [
        item.as_dict()
        for item in (
            Objective("lostRecords", 0, lost),
            Objective("maxWriteUnavailability", 15 * SECOND, write, detection_limit=LIMIT),
            Objective("maxReadUnavailability", 20 * SECOND, read, detection_limit=LIMIT),
            Objective("maxRecovery", 90 * SECOND, None, affected=False),
        )
    ]


def card(verdict: str = "Passed", **changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = scorecard.header("ns", "t", "uid", 42) | {
        "verdict": verdict,
        "summary": "",
        "inconclusiveReasons": [],
        "ledger": {"attempted": 9, "acked": 9, "lost": 0, "balanced": 1},
        "objectives": objectives(write=9 * SECOND),
        "faults": [
            {
                "name": "leader-down",
                "action": "CrashPod",
                "targets": [{"pod": "t-kafka-0-0"}],
                "injectedAt": 5 * SECOND,
                "revertedAt": 25 * SECOND,
            }
        ],
    }
    return document | changes


def test_sentence_of_a_passed_run_says_what_was_done_seen_and_meant() -> None:
    assert sentence(card()) == (
        "Fault leader-down (CrashPod) hit t-kafka-0-0 for 20.00 s: no acknowledged record was "
        "found lost, writes to a partition stopped for up to 9.00 s, and no read outage longer "
        "than 8.30 s was seen. Kafka kept what its configuration promises, and every objective was "
        "met."
    )


def test_sentence_of_permitted_loss_names_the_rule_and_the_missed_objective() -> None:
    lost = scorecard_sections.anomalies([anomaly("lost-write", {"acks-1": 5})], {})
    text = sentence(
        card(
            "Degraded",
            ledger={"attempted": 9, "acked": 9, "lost": 5},
            anomalies=lost,
            objectives=objectives(lost=5),
        )
    )
    assert "5 acknowledged records were lost, as the configuration permits (acks-1)" in text
    assert text.endswith("but not every objective was met: lostRecords.")


def test_sentence_of_a_violation_says_that_a_promise_is_broken() -> None:
    lost = scorecard_sections.anomalies([anomaly("lost-write", {None: 1})], {})
    text = sentence(card("Failed", ledger={"acked": 9, "lost": 1}, anomalies=lost))
    assert "1 acknowledged record was lost, which the configuration does not permit" in text
    assert text.endswith("Not permitted: lost-write.")


def test_sentence_of_void_violations_claims_no_loss_and_no_broken_promise() -> None:
    found = [anomaly("lost-write", {None: 3}), anomaly("duplicate-delivery", {None: 1})]
    anomalies = scorecard_sections.anomalies(found, {"lost-write": 3})
    text = sentence(card("Failed", ledger={"acked": 9, "lost": 3}, anomalies=anomalies))
    assert "3 acknowledged records were not found, which proves no loss" in text
    assert text.endswith("Not permitted: duplicate-delivery.")


def test_sentence_of_an_inconclusive_run_claims_nothing() -> None:
    reasons = [{"code": "FileMissing", "subject": "log", "message": "m", "invalidates": []}]
    text = sentence(card("Inconclusive", inconclusiveReasons=reasons, faults=[]))
    assert text.startswith("No fault was injected:")
    assert text.endswith(
        "proves nothing about Kafka, because its evidence does not suffice (FileMissing)."
    )


def test_sentence_without_a_plan_says_that_nothing_was_judged() -> None:
    bare = scorecard.header("ns", "t", "uid", None) | {"verdict": "Inconclusive"}
    assert sentence(bare).startswith("Nothing was judged")


def test_tiles_show_objectives_and_detection_limits_and_never_an_unseen_0() -> None:
    lost, write, read, recovery = tiles(card())
    assert (lost.value, lost.met) == ("0", True)
    assert "all 9 acknowledged were looked up" in lost.limit
    assert (write.value, write.objective) == ("9.00 s", "objective: at most 15.00 s, met")
    assert (write.limit, read.limit) == ("detection limit: 8.30 s",) * 2
    assert read.value == "none longer than 8.30 s (detection limit)"
    assert recovery.value == "no effect seen"
    assert write.meter is not None
    assert (write.meter.value, write.meter.objective) == (50, 83)


def test_tiles_of_a_scorecard_without_detection_limits_do_not_show_0() -> None:
    """Results of earlier builds have 0 where nothing was seen."""
    old = {"name": "maxReadUnavailability", "limit": 5, "value": 0, "met": True, "unit": "us"}
    read = tiles(card(objectives=[old]))[2]
    assert read.value == "none seen (detection limit not recorded)"


def test_tile_of_losses_on_missing_evidence_is_not_0() -> None:
    reasons = [{"code": "FileMissing", "subject": "log", "invalidates": ["lost-write", "unseen"]}]
    document = card("Inconclusive", inconclusiveReasons=reasons)
    lost = tiles(document)[0]
    assert (lost.value, lost.limit) == (
        "none found",
        "detection limit: not known, since evidence is missing",
    )
    assert "found lost, though evidence of some is missing" in sentence(document)


@pytest.mark.parametrize("name", ["Inconclusive", "Failed"])
def test_tiles_without_objectives_say_so(name: str) -> None:
    bare = scorecard.header("ns", "t", "uid", None) | {"verdict": name}
    assert [tile.value for tile in tiles(bare)] == ["not recorded"] * 4


def test_sentence_of_a_scorecard_without_objectives_says_that_outages_are_not_recorded() -> None:
    text = sentence(card(objectives=[]))
    assert "no acknowledged record was found lost; outages are not recorded here. Kafka" in text
