"""Which findings weigh on which term of the score."""

from __future__ import annotations

from krt_scoring.anomalies.findings import UNITS, Judgement
from krt_scoring.anomalies.findings import result as anomaly_result
from krt_scoring.verdict import score_inputs
from krt_scoring.verdict.objectives import Objective
from krt_scoring.verdict.verdict import decide


def judgement(**counts: dict[str | None, int]) -> Judgement:
    found = {name.replace("_", "-"): rules for name, rules in counts.items()}
    results = tuple(anomaly_result(name, found.get(name, {}), {}, ()) for name in UNITS)
    ledger = {"acked": 100, "deliveries": 90, "deliveredLate": 2, "undelivered": 1}
    return Judgement(ledger, results, (), ())


OBJECTIVES = (Objective("lostRecords", 3, 9), Objective("maxRecovery", 50, 40, ended=False))


def test_a_record_found_lost_by_two_rules_is_lost_once() -> None:
    found = judgement(lost_write={"unclean-election": 9}, vanished_read={"unclean-election": 8})
    given = score_inputs.score_inputs(found, decide({}, (), OBJECTIVES))
    assert (given.lost_permitted, given.lost_violations, given.lost_limit) == (9, 0, 3)
    assert (given.acked, given.deliveries, given.delivered_late) == (100, 90, 2)


def test_only_standing_violations_weigh_and_every_anomaly_of_a_term_does() -> None:
    found = judgement(unseen={None: 2}, poll_skip={"truncation": 4}, key_order={None: 5})
    given = score_inputs.score_inputs(found, decide({"unseen": 2, "key-order": 5}, (), ()))
    assert (given.delivery_permitted, given.delivery_violations) == (4, 2)
    assert (given.order_violations, given.violated_kinds) == (5, 2)


def test_a_recovery_that_never_ended_misses_its_limit() -> None:
    given = score_inputs.score_inputs(judgement(), decide({}, (), OBJECTIVES))
    assert given.recovery == (51, 50)


def test_every_anomaly_but_the_reported_ones_belongs_to_a_term() -> None:
    reported = {"unexpected-rebalance", "accepted-below-min-isr"}
    assert set(UNITS) - reported <= {
        *score_inputs.LOSS,
        *score_inputs.ORDER,
        *score_inputs.DELIVERY,
    }
