"""Which anomalies count towards which component of the score."""

from __future__ import annotations

from tests.unit.scoring.builders import detection

from krt_scoring.anomalies.registry import UNITS
from krt_scoring.verdict import score_inputs
from krt_scoring.verdict.objectives import Objective
from krt_scoring.verdict.verdict import decide

LEDGER = {"acked": 100, "deliveries": 90, "deliveredLate": 2, "undelivered": 1}


OBJECTIVES = (Objective("lostRecords", 3, 9), Objective("maxRecovery", 50, 40, ended=False))


def test_score_inputs_of_a_record_lost_by_two_rules_count_it_once() -> None:
    found = detection(
        {"lost-write": {"unclean-election": 9}, "vanished-read": {"unclean-election": 8}}, LEDGER
    )
    given = score_inputs.score_inputs(found, decide({}, (), OBJECTIVES))
    assert (given.lost_permitted, given.lost_violations, given.lost_limit) == (9, 0, 3)
    assert (given.acked, given.deliveries, given.delivered_late) == (100, 90, 2)


def test_score_inputs_take_standing_violations_of_every_anomaly() -> None:
    found = detection(
        {"unseen": {None: 2}, "poll-skip": {"truncation": 4}, "key-order": {None: 5}}, LEDGER
    )
    given = score_inputs.score_inputs(found, decide({"unseen": 2, "key-order": 5}, (), ()))
    assert (given.delivery_permitted, given.delivery_violations) == (4, 2)
    assert (given.order_violations, given.violated_kinds) == (5, 2)


def test_score_inputs_of_an_unended_recovery_miss_its_limit() -> None:
    given = score_inputs.score_inputs(detection({}, LEDGER), decide({}, (), OBJECTIVES))
    assert given.recovery == (51, 50)


def test_components_cover_every_anomaly_but_the_reported_ones() -> None:
    reported = {"unexpected-rebalance", "accepted-below-min-isr"}
    assert set(UNITS) - reported <= {
        *score_inputs.LOSS,
        *score_inputs.ORDER,
        *score_inputs.DELIVERY,
    }
