from __future__ import annotations

from typing import Any

import pytest
from tests.unit.traffic.scrapes import scrape
from tests.unit.traffic.test_records import done, entry, records, sent

from krt_contract.metrics import PRODUCER_METRICS
from krt_contract.outcomes import SendOutcome
from krt_traffic.producer.schedule import Schedule
from krt_traffic.sending import metrics as module
from krt_traffic.sending.metrics import SendMetrics
from krt_traffic.sending.records import Done, Records


class Sender:
    """Knows the last acknowledged offsets, or that brokers acknowledge nothing."""

    def __init__(self, acked: dict[int, int] | None) -> None:
        self.acked_offsets = acked


def metrics(all_sends: Records, acked: dict[int, int] | None = None) -> SendMetrics:
    sender: Any = Sender(acked)
    return SendMetrics("t", "main-0", all_sends, sender)


def given_up(seq: int) -> Done:
    return Done(seq, sent(), 5_000_100, 2_100, None, SendOutcome.UNKNOWN, "_MSG_TIMED_OUT")


def test_sends_are_counted_by_outcome_and_in_flight_without_a_snapshot() -> None:
    all_sends = records()
    all_sends.attempted = 4
    all_sends.in_flight.update({seq: sent() for seq in range(4)})
    all_sends.report(done(0))
    all_sends.acked(1, sent(), 5_000_100, 2_100, 7)
    all_sends.report(given_up(2))
    found = scrape(metrics(all_sends))
    assert found["krt_producer_sends_attempted_total{t,main-0}"] == 4
    assert found["krt_producer_sends_in_flight{t,main-0}"] == 1
    outcomes = {"acked": 2, "failed": 0, "unknown": 1}
    for outcome, count in outcomes.items():
        assert found[f"krt_producer_sends_total{{t,main-0,{outcome}}}"] == count


def test_latency_is_of_acknowledged_sends_from_when_they_were_due() -> None:
    all_sends = records()
    all_sends.schedule = Schedule(start=0, rate=500)
    for seq in (0, 1):
        all_sends.in_flight[seq] = sent()
        all_sends.acked(seq, sent(), 5_000_100, 2_100, seq)
    all_sends.in_flight[2] = sent()
    all_sends.report(given_up(2))
    all_sends.snapshot()
    found = scrape(metrics(all_sends))
    # Due at 0 and 2000, acknowledged at 2100.
    assert found["krt_produce_latency_seconds_count{t,main-0}"] == 2
    assert found["krt_produce_latency_seconds_sum{t,main-0}"] == pytest.approx(0.0022)
    assert found["krt_produce_latency_seconds_bucket{t,main-0,0.001}"] == 1


def test_latency_at_the_unlimited_rate_counts_from_the_send() -> None:
    all_sends = Records(entry(records_per_second=0), "main-0", "u1")
    all_sends.in_flight[0] = sent()
    all_sends.acked(0, sent(), 5_000_100, 2_100, 0)
    all_sends.snapshot()
    assert all_sends.latency.read()[1:] == (1, 100)


def test_unacknowledged_partitions_are_those_in_flight_or_given_up() -> None:
    all_sends = records()
    all_sends.in_flight.update({seq: sent() for seq in range(3)})
    all_sends.report(done(0))
    all_sends.report(given_up(1))
    all_sends.snapshot()
    assert all_sends.unacknowledged == {1, 2}
    all_sends.snapshot()
    assert all_sends.unacknowledged == {2}


def test_open_outages_are_partitions_that_wait_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr(module, "mono", lambda: now[0])
    all_sends = records()
    all_sends.in_flight[1] = sent()
    tested = metrics(all_sends, {0: 3})
    for now[0] in (0, 1_500_000):
        all_sends.snapshot()
        tested.update()
    found = scrape(tested)
    waits = {p: found[f"krt_producer_wait_seconds{{t,main-0,foo,{p}}}"] for p in range(3)}
    assert waits == {0: 0, 1: 1.5, 2: 0}
    assert found["krt_producer_open_outages{t,main-0}"] == 1


def test_without_acknowledgements_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr(module, "mono", lambda: now[0])
    all_sends = records()
    all_sends.in_flight[1] = sent()
    tested = metrics(all_sends, None)
    for now[0] in (0, 9_000_000):
        all_sends.snapshot()
        tested.update()
    assert scrape(tested)["krt_producer_open_outages{t,main-0}"] == 0


def test_metrics_are_those_of_the_contract() -> None:
    assert {family.name for family in metrics(records()).collect()} == {
        metric.name.removesuffix("_total") for metric in PRODUCER_METRICS
    }
